"""A word on long waits: which case is being judged, and since when.

pytest shows a dot when a case has ended; some take a minute, since a driver is watched meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager

FIRST_S = 15.0
"""Silence until the first word: nobody wonders earlier. Each further one comes after twice the
time, so that logs of pipelines stay short."""

JOIN_S = 5.0
"""Longest wait for a word that is just being written."""


class Progress:
    """See the module.

    Args:
        say: shows a line; called by another thread, only while a case is being judged.
        first_s: seconds of silence.
    """

    def __init__(self, say: Callable[[str], object], *, first_s: float = FIRST_S) -> None:
        self._say = say
        self._first_s = first_s
        self.total = 0
        self.judged = 0

    @contextmanager
    def judging(self, id: str, title: str) -> Iterator[None]:
        """Say from time to time that this case is still being judged."""
        ended = threading.Event()
        teller = threading.Thread(
            target=self._tell, args=(id, title, ended), name="progress", daemon=True
        )
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join(JOIN_S)
            self.judged += 1

    def _tell(self, id: str, title: str, ended: threading.Event) -> None:
        told, due = 0.0, self._first_s
        while not ended.wait(due - told):
            self._say(
                f"dra: {id} for {due:g} s now: {title} "
                f"({self.judged} of {self.total} cases were judged)"
            )
            told, due = due, 2 * due

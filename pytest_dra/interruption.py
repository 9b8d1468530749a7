"""Ctrl-C at the end of a run, when all that is left to do is to end things and to write.

It costs the report if it comes then, which nobody wants who has waited for it. Writing takes a
second, so that it is held back; ending may take as long as a cluster takes to go, so that it is
given up, and goes on when pytest ends.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

ENDING: Final = (
    "interrupted while driver and cluster were being ended: what is left of them goes as pytest "
    "ends"
)
WRITING: Final = "interrupted while the report was being written: it is whole"


class Held:
    """Whether Ctrl-C has come."""

    came = False


@contextlib.contextmanager
def held_back() -> Iterator[Held]:
    """Let SIGINT wait, and forget it: who holds it back says what becomes of the run.

    Only the main thread may do so; elsewhere nothing changes, since no SIGINT comes there.
    """
    held = Held()
    if threading.current_thread() is not threading.main_thread():
        yield held
        return

    def note(number: int, frame: FrameType | None) -> None:
        del number, frame
        held.came = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield held
    finally:
        # None: set by a library of C, and not to be had back from here.
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)

"""One whole cluster for all workers of xdist: made by the controller when the first one asks."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from pytest_dra.live.meeting import Meeting
from pytest_dra.live.meeting import Met
from pytest_dra.session import Session

EVERY_S: Final = 0.2
"""Between two looks whether a worker asks."""

ENDS_S: Final = 5.0
"""Longest wait for the thread that looks."""


class Offer:
    """See the module. The cluster ends with the session, which is the controller's.

    Args:
        session: gives the session of the controller; its cluster is made for the first worker.
    """

    def __init__(self, session: Callable[[], Session]) -> None:
        self.meeting = Meeting(Path(tempfile.mkdtemp(prefix="dra-workers-")))
        self._session = session
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="dra-offer", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._ends.wait(EVERY_S):
            if self.meeting.is_asked():
                try:
                    self.meeting.answer(self._made())
                except (Exception, pytest.fail.Exception) as error:
                    self.meeting.refuse(f"{type(error).__name__}: {error}")
                return

    def _made(self) -> Met:
        site = self._session().live_site
        if site is None:
            raise RuntimeError("the run has no whole cluster")
        return site.offer(self.meeting)

    def close(self) -> None:
        """Offer nothing any more; the session is left to whoever has made it."""
        self._ends.set()
        self._thread.join(ENDS_S)
        shutil.rmtree(self.meeting.folder, ignore_errors=True)

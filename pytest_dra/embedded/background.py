"""Something that serves from an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from collections.abc import Coroutine
from typing import Final
from typing import TypeVar

_LOG: Final = logging.getLogger(__name__)

START_S: Final = 10.0
"""Longest start; normal is far below a second."""

WORK_S: Final = 10.0
"""Longest wait for the loop to do what another thread wants: mostly below a millisecond."""

T = TypeVar("T")


class Background:
    """The thread and the loop.

    Args:
        what: for people, "the API server".
        name: of the thread.
        serve: opens what it needs, waits in :meth:`until_stopped`, and closes it.
        stop_s: longest orderly end; afterwards the loop is left to itself.
    """

    def __init__(
        self,
        what: str,
        serve: Callable[[], Coroutine[object, object, None]],
        *,
        name: str,
        stop_s: float,
    ) -> None:
        self._what = what
        self._serve = serve
        self._name = name
        self._stop_s = stop_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended: asyncio.Event | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None

    @property
    def running(self) -> bool:
        """True from the start to the end."""
        return self._thread is not None and self._thread.is_alive() and self._ready.is_set()

    def start(self) -> None:
        """Serve; ready when this returns.

        Raises:
            RuntimeError: it was started before, or did not come up.
        """
        if self._thread is not None:
            raise RuntimeError(f"{self._what} has been started before: make a new one")
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()
        if not self._ready.wait(START_S):
            raise RuntimeError(f"{self._what} was not ready within {START_S:g} s")
        if self._failure is not None:
            raise RuntimeError(f"{self._what} did not start: {self._failure}") from self._failure

    def stop(self) -> None:
        """End it, in bounded time; may be called twice, and before the start."""
        loop, ended, thread = self._loop, self._ended, self._thread
        if thread is None:
            return
        if loop is not None and ended is not None and thread.is_alive():
            try:
                loop.call_soon_threadsafe(ended.set)
            except RuntimeError:
                _LOG.debug("the loop has ended by itself")
        thread.join(self._stop_s)
        if thread.is_alive():
            _LOG.warning("%s did not end within %s s", self._what, self._stop_s)

    async def until_stopped(self) -> None:
        """Say that it serves, and wait for the end."""
        if self._ended is None:
            raise RuntimeError(f"{self._what} waits for its end in a loop that is not its own")
        self._ready.set()
        await self._ended.wait()

    def call(self, work: Coroutine[object, object, T]) -> T:
        """Run it in the loop, from any other thread; what it returns.

        Raises:
            RuntimeError: nothing runs.
        """
        if self._loop is None or not self.running:
            work.close()
            raise RuntimeError(f"{self._what} is not running: start it first")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WORK_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._begin())
        except Exception as error:
            self._failure = error
            _LOG.exception("%s failed", self._what)
        finally:
            self._ready.set()

    async def _begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        await self._serve()

"""A watch on its way through the proxy, which a test may hold back, end or cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from collections.abc import Callable
from typing import Final

import aiohttp
from aiohttp import web

from pytest_dra.embedded.port import cut
from pytest_dra.embedded.routing import Route

STALL_LOOK_S: Final = 0.05
"""Pause between two looks whether a watch that is held back may go on."""


class Stream:
    """One open watch.

    Args:
        identity: whose it is.
        route: what it watches.
        request: of the client.
        stalled: true while the client is to be told nothing.
        span_s: after that time it ends in order; None for whenever the server ends it.
    """

    def __init__(
        self,
        *,
        identity: str,
        route: Route,
        request: web.BaseRequest,
        stalled: Callable[[], bool],
        span_s: float | None,
    ) -> None:
        self.identity = identity
        self.route = route
        self.task = asyncio.current_task()
        self._request = request
        self._stalled = stalled
        self._span_s = span_s
        self._ended = asyncio.Event()

    def end(self) -> None:
        """End in order, as by a timeout."""
        self._ended.set()

    def cut(self) -> None:
        """End by a reset of the connection."""
        cut(self._request)

    async def blocks(self, source: aiohttp.StreamReader, *, in_lines: bool) -> AsyncIterator[bytes]:
        """What the server sends, ``in_lines`` only whole ones, until one of the two ends it."""
        loop = asyncio.get_running_loop()
        end = None if self._span_s is None else loop.time() + self._span_s
        ended = asyncio.ensure_future(self._ended.wait())
        reading: asyncio.Task[bytes] | None = None
        rest = b""
        try:
            while not ended.done() and (end is None or loop.time() < end):
                if self._stalled():
                    # in steps, because the end of a rule wakes nobody
                    await asyncio.wait({ended}, timeout=STALL_LOOK_S)
                    continue
                reading = reading or asyncio.ensure_future(source.readany())
                left = None if end is None else max(0.0, end - loop.time())
                await asyncio.wait({reading, ended}, timeout=left, return_when=_FIRST)
                if not reading.done() or self._stalled():
                    continue
                block, reading = reading.result(), None
                if not block:
                    break
                if in_lines:
                    block, newline, rest = (rest + block).rpartition(b"\n")
                    block += newline
                if block:
                    yield block
        finally:
            ended.cancel()
            if reading is not None:
                reading.cancel()


_FIRST: Final = asyncio.FIRST_COMPLETED

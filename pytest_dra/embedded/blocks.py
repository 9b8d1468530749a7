"""Answers of many megabytes, which are put together while they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from collections.abc import Callable
from collections.abc import Iterable
from typing import Final

BLOCK: Final = 1 << 18
"""Bytes that are sent at a time; between two of them others get their turn."""


class Blocks:
    """The text of an answer as pieces that are made when they are wanted.

    Args:
        pieces: makes them, the same each time.
    """

    def __init__(self, pieces: Callable[[], Iterable[bytes]]) -> None:
        self._pieces = pieces

    def whole(self) -> bytes:
        """All of it."""
        return b"".join(self._pieces())

    async def sent(self) -> AsyncIterator[bytes]:
        """Blocks of some size."""
        waiting: list[bytes] = []
        size = 0
        for piece in self._pieces():
            waiting.append(piece)
            size += len(piece)
            if size >= BLOCK:
                yield b"".join(waiting)
                waiting.clear()
                size = 0
                await asyncio.sleep(0)
        yield b"".join(waiting)

"""Room on the stack for deep expressions.

The language allows 250 levels of nesting, which needs more frames than Python's default limit.
The limit is raised only while such an expression is at work, and put back after the last one.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Final

SHALLOW: Final = 40
"""Levels that surely fit the default limit of 1,000 frames, our caller's share left."""

_FRAMES: Final = 12_000
"""Enough for 250 levels of each kind of nesting at once; the parser refuses more."""

_lock: Final = threading.Lock()
_active: list[int] = []


@contextlib.contextmanager
def room(levels: int) -> Iterator[None]:
    """Make room for an expression that is nested ``levels`` deep, an upper bound."""
    if levels <= SHALLOW:
        yield
        return
    with _lock:
        _active.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_active[-1], _FRAMES))
    try:
        yield
    finally:
        with _lock:
            before = _active.pop(0)
            if not _active:
                sys.setrecursionlimit(before)

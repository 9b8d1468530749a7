"""Regular expressions with RE2's rules: linear time, no look-around, no back-references."""

from __future__ import annotations

import functools
import re
from typing import Any
from typing import Final

_BYTES_MAX: Final = 8 << 20
"""Memory that RE2 may use for one expression."""


_BYTE: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")
"""A single byte: RE2 knows it, Kubernetes' expressions do not."""


class RegexError(ValueError):
    """The pattern is not one."""


@functools.lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """A compiled pattern, with ``search(text, position)``.

    Raises:
        RegexError: it is none.
    """
    import re2

    if _BYTE.search(text):
        raise RegexError(f"no regular expression: {text[:60]!r}: \\C is not supported")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _BYTES_MAX
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise RegexError(f"no regular expression: {text[:60]!r}: {error}") from error


def matches(text: str, compiled: Any) -> bool:
    """True if the pattern occurs anywhere in the text."""
    return compiled.search(text) is not None


def find(text: str, compiled: Any) -> str:
    """The first occurrence, "" if there is none."""
    match = compiled.search(text)
    return "" if match is None else str(match.group())


def find_all(text: str, compiled: Any, limit: int) -> list[object]:
    """Occurrences that do not overlap, ``limit`` at most unless it is negative."""
    found: list[object] = []
    position, before = 0, -1
    while position <= len(text) and (limit < 0 or len(found) < limit):
        match = compiled.search(text, position)
        if match is None:
            break
        start, end = match.span()
        if end > start or start != before:
            found.append(match.group())
        before = end
        position = end + 1 if end == start else end
    return found

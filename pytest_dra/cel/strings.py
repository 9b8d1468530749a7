"""Functions on strings. Offsets count code points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pytest_dra.cel import regex
from pytest_dra.cel import work
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import no_overload

_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""White space by Unicode, as Go trims it."""

_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _outside(offset: int) -> CelError:
    return CelError("index", f"index out of range: {offset}")


def char_at(text: str, index: int) -> object:
    """One character, "" at the end."""
    return text[index : index + 1] if 0 <= index <= len(text) else _outside(index)


def index_of(text: str, part: str, offset: int = 0, *, clamp: bool = True) -> object:
    """First occurrence from ``offset`` on, -1 for none.

    Up to Kubernetes 1.36 any offset came back for an empty ``part`` (no ``clamp``).
    """
    if not part and not clamp:
        return offset
    if offset < 0:
        return _outside(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset) if offset < len(text) else -1


def last_index_of(text: str, part: str, offset: int | None = None, *, clamp: bool = True) -> object:
    """Last occurrence that begins at ``offset`` or before, -1 for none."""
    if offset is None:
        if not part:
            return len(text)
        if len(text.encode()) < len(part.encode()):
            return -1
        offset = len(text) - 1
    if not part and not clamp:
        return offset
    if offset < 0:
        return _outside(offset)
    if not part:
        return min(offset, len(text))
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def lower(text: str) -> str:
    """ASCII letters to lower case."""
    return text.translate(_LOWER)


def upper(text: str) -> str:
    """ASCII letters to upper case."""
    return text.translate(_UPPER)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    """Occurrences replaced, at most ``count`` unless negative."""
    limit = count if 0 <= count < 2**62 else -1
    if len(new) > len(old):
        found = text.count(old) if limit < 0 else min(text.count(old), limit)
        work.bound_text(len(text) + found * (len(new) - len(old)))
    return text.replace(old, new, limit)


def split(text: str, separator: str, count: int = -1) -> list[object]:
    """Parts between separators, at most ``count`` unless negative."""
    if count == 0:
        return []
    limit = count - 1 if 0 < count < 2**62 else -1
    if separator:
        return list(text.split(separator, limit))
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[:limit], text[limit:]]


def substring(text: str, start: int, end: int | None = None) -> object:
    """Characters from ``start`` to ``end``."""
    if end is not None and start > end:
        return CelError("range", f"substring from {start} to {end}")
    if not 0 <= start <= len(text):
        return _outside(start)
    if end is not None and end > len(text):
        return _outside(end)
    return text[start:end]


def trim(text: str) -> str:
    """Without white space at the ends."""
    return text.strip(_SPACE)


def join(parts: list[object], separator: str = "") -> object:
    """Strings joined."""
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts):
        return CelError("no-such-overload", "join takes strings")
    work.bound_text(sum(map(len, texts)) + len(texts) * len(separator))
    return separator.join(texts)


def of_strings(test: Callable[[str, str], bool]) -> Callable[[object, object], object]:
    """A test of two strings as a function of any values."""

    def tested(text: object, part: object) -> object:
        if isinstance(text, str) and isinstance(part, str):
            return test(text, part)
        return no_overload()

    return tested


def matches(text: object, pattern: object) -> object:
    """True if the pattern occurs in the text."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        return no_overload("matches")
    try:
        return regex.matches(text, regex.pattern(pattern))
    except regex.RegexError as error:
        return CelError(error.kind, str(error))


def find(text: str, pattern: str) -> object:
    """First occurrence of a pattern, "" for none."""
    try:
        return regex.find(text, regex.pattern(pattern))
    except regex.RegexError as error:
        return CelError(error.kind, str(error))


def find_all(text: str, pattern: str, limit: int = -1) -> object:
    """Occurrences of a pattern."""
    try:
        return regex.find_all(text, regex.pattern(pattern), limit)
    except regex.RegexError as error:
        return CelError(error.kind, str(error))

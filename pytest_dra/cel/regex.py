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


_RANGE: Final = "character class range"
"""What RE2 says of ranges, and of classes that it does not know."""

_CLASS: Final = re.compile(r"\\(?:([pP])(?:([a-z])|\{(\^?)([^}]*)\})|.)", re.DOTALL)

_ALIASES: Final = {
    "Closepunctuation": "Pe", "Combiningmark": "M", "Connectorpunctuation": "Pc",
    "Control": "Cc", "Currencysymbol": "Sc", "Dashpunctuation": "Pd", "Decimalnumber": "Nd",
    "Enclosingmark": "Me", "Finalpunctuation": "Pf", "Format": "Cf", "Initialpunctuation": "Pi",
    "Letter": "L", "Letternumber": "Nl", "Lineseparator": "Zl", "Lowercaseletter": "Ll",
    "Mark": "M", "Mathsymbol": "Sm", "Modifierletter": "Lm", "Modifiersymbol": "Sk",
    "Nonspacingmark": "Mn", "Number": "N", "Openpunctuation": "Ps", "Other": "C",
    "Otherletter": "Lo", "Othernumber": "No", "Otherpunctuation": "Po", "Othersymbol": "So",
    "Paragraphseparator": "Zp", "Privateuse": "Co", "Punctuation": "P", "Separator": "Z",
    "Spaceseparator": "Zs", "Spacingmark": "Mc", "Surrogate": "Cs", "Symbol": "S",
    "Titlecaseletter": "Lt", "Uppercaseletter": "Lu", "Cntrl": "Cc", "Digit": "Nd", "Punct": "P",
}  # fmt: skip
"""Long names of Unicode's categories, as Go compares them."""


class RegexError(ValueError):
    """The pattern is not one. ``kind`` is the class at run time."""

    def __init__(self, message: str, kind: str = "regex") -> None:
        super().__init__(message)
        self.kind = kind


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
    named = _CLASS.sub(_named_class, text)
    error: Exception | None = None
    for spelling in dict.fromkeys((text, named)):
        try:
            return re2.compile(spelling, options)
        except re2.error as failure:
            error = error or failure
    kind = "range" if _RANGE in str(error) else "regex"
    raise RegexError(f"no regular expression: {text[:60]!r}: {error}", kind) from error


def _named_class(match: re.Match[str]) -> str:
    """A class by the name that RE2 has for it: Go looks at neither case nor gaps."""
    letter, single, sign, name = match.groups()
    if single:
        return f"\\{letter}{single.upper()}"
    if name is None:
        return match.group()
    name = re.sub("[_ -]", "", name).capitalize()
    return f"\\{letter}{{{sign}{_ALIASES.get(name, name)}}}"


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

"""Texts of a driver made fit for terminals, YAML and XML.

What a driver sends may hold control characters, escape sequences, halves of surrogate pairs or
hundreds of megabytes. Everything that a report shows goes through :func:`plain` once, when the
result is made; the writers rely on it.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

TEXT_LIMIT = 4096
"""Characters of one text of a result: two screenfuls; whole objects lie in the timeline."""

LINE_LIMIT = 300
"""Characters of one line of a timeline excerpt."""

SHOWN_ITEMS = 40
SHOWN_STRING = 1000
SHOWN_LEVELS = 8
"""Bounds of the values that ``got`` shows: a slice with a few devices fits, a flood does not."""

LAYOUT = "\n\t"

CUT = "... ({} characters in all)"


def plain(text: str, limit: int = TEXT_LIMIT) -> str:
    """``text`` with what is not printable escaped, in at most ``limit`` characters.

    Line ends and tabs stay. Printable is what :meth:`str.isprintable` says, so neither escape
    sequences nor direction marks nor surrogates are left, and XML 1.0 allows all of it. A second
    pass changes nothing.
    """
    return _bounded(text[:limit].replace("\r\n", "\n"), len(text), limit)


def one_line(text: str, limit: int = LINE_LIMIT) -> str:
    """:func:`plain` text without line ends."""
    return _bounded(" ".join(text[:limit].split()), len(text), limit)


def shown(value: object) -> str:
    """The ``repr`` of a value that a driver made, of bounded size whatever the value is."""
    return plain(_Shown().repr(value))


def plain_data(value: object) -> Any:
    """Plain data (mappings, lists, scalars) with every string and key made :func:`plain`."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {plain(str(key)): plain_data(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(each) for each in value]
    return value


def spelled_ids(ids: Iterable[str]) -> str:
    """Case ids in as few words as possible: ``PREP-001..003, UNP-002``."""
    runs: list[list[str]] = []
    for each in sorted(set(ids)):
        if runs and _follows(runs[-1][-1], each):
            runs[-1].append(each)
        else:
            runs.append([each])
    words: list[str] = []
    for run in runs:
        if len(run) > 2:
            words.append(f"{run[0]}..{run[-1].rpartition('-')[2]}")
        else:
            words += run
    return ", ".join(words)


def case_name(case: Mapping[str, Any]) -> str:
    """Id of a case of a report, with the parameter in brackets if there is one."""
    parameter = case.get("parameter", "")
    return f"{case['id']}[{parameter}]" if parameter else str(case["id"])


def _follows(before: str, after: str) -> bool:
    area, _, number = before.rpartition("-")
    return number.isdecimal() and after == f"{area}-{int(number) + 1:0{len(number)}d}"


def _bounded(start: str, length: int, limit: int) -> str:
    """Escape ``start``, the beginning of a text of ``length`` characters, and cut it if need be."""
    if not start.isprintable():
        start = "".join(
            each if each.isprintable() or each in LAYOUT else _escaped(each) for each in start
        )
    if length <= limit and len(start) <= limit:
        return start
    note = CUT.format(length)
    return start[: max(0, limit - len(note))] + note


def _escaped(character: str) -> str:
    if character.isascii():
        return f"\\x{ord(character):02x}"
    return character.encode("ascii", "backslashreplace").decode()


class _Shown(reprlib.Repr):
    """``repr`` with bounds that leave an ordinary object whole."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = SHOWN_LEVELS
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = SHOWN_ITEMS
        self.maxfrozenset = self.maxdeque = self.maxarray = SHOWN_ITEMS
        self.maxstring = self.maxlong = self.maxother = SHOWN_STRING

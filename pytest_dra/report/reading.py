"""Reports that come from elsewhere: read in bounds, held against the schema, made harmless.

A report may be anybody's file; what is larger than any run could make it is refused.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import plain_data
from pytest_dra.report.tree import Tree
from pytest_dra.report.tree import TreeError
from pytest_dra.report.tree import parse
from pytest_dra.report.yaml_report import problems_of
from pytest_dra.spec import Json

SIZE_LIMIT = 32 * 1024 * 1024
"""Bytes of a file; a report of every case failed has less than four mebibytes."""

SOME_LIMIT = 400_000
"""Values of a field, nodes and profile aside: nearly three times what there is where every case has
failed at both depths, with all that is kept of it. Holding one against the schema takes some ten
microseconds."""

MANY = frozenset({"nodes", "profile"})
"""Fields with a bound of their own, or none that the schema looks into."""

PROBLEMS_SHOWN = 20
STANDARD_INPUT = Path("-")


class BadReport(Exception):
    """A file is no report; one problem a line, each with file and position."""


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """A report as it was read: ``raw`` is what the checksum is of."""

    file: str
    raw: Json
    tree: Tree

    @property
    def data(self) -> Json:
        """The same, fit to be shown."""
        made: Json = plain_data(self.raw)
        return made

    def told(self, place: tuple[str | int, ...], message: str) -> str:
        """What is wrong with a value, with file, line and path."""
        return f"{self.file}:{self.tree.line(place)}: {spelled(place)}: {one_line(message)}"


def read(path: Path) -> Report:
    """A report that has the form of the schema.

    Raises:
        BadReport: it cannot be read, or has another form.
    """
    return _formal(read_loosely(path))


def _formal(loose: Report) -> Report:
    for field, value in loose.raw.items():
        if field not in MANY and _has_more(value, SOME_LIMIT):
            raise BadReport(loose.told((field,), f"more than {SOME_LIMIT} values: no report"))
    found = sorted(problems_of(loose.raw), key=lambda each: spelled(each[0]))
    if found:
        lines = [loose.told(place, message) for place, message in found[:PROBLEMS_SHOWN]]
        if len(found) > PROBLEMS_SHOWN:
            lines.append(f"{loose.file}: {len(found) - PROBLEMS_SHOWN} more problems")
        raise BadReport("\n".join(lines))
    return loose


def _has_more(value: object, limit: int) -> bool:
    """True of a value with more than so many values in it, at whatever depth."""
    rest, number = [value], 0
    while rest and number <= limit:
        each = rest.pop()
        number += 1
        if isinstance(each, dict):
            rest += each.values()
        elif isinstance(each, list):
            rest += each
    return number + len(rest) > limit


def read_loosely(path: Path) -> Report:
    """A file that says that it is a report, not yet held against the schema.

    Raises:
        BadReport: it cannot be read, or is something else.
    """
    return _report(str(path), _text(path))


def read_text(name: str, text: str) -> Report:
    """The text of a report that has the form of the schema; ``name`` is that of its file.

    Raises:
        BadReport: as :func:`read`.
    """
    return _formal(_report(name, text))


def _report(name: str, text: str) -> Report:
    tree = _parsed(name, text)
    raw = tree.data
    if not isinstance(raw, dict) or raw.get("kind") != "ConformanceReport":
        raise BadReport(f"{name}:1: no report of pytest-dra: kind is not ConformanceReport")
    return Report(name, raw, tree)


def _text(path: Path) -> str:
    try:
        content = _content(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadReport(f"{path}: cannot be read: {reason}") from error
    if len(content) > SIZE_LIMIT:
        raise BadReport(f"{path}: larger than {SIZE_LIMIT // 1024**2} MiB: no report")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BadReport(f"{path}:{line}: not UTF-8") from error


def _content(path: Path) -> bytes:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(SIZE_LIMIT + 1)
    # Not blocking: a named pipe without a writer would hold the command up for ever.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        os.set_blocking(file.fileno(), True)
        return file.read(SIZE_LIMIT + 1)


def _parsed(name: str, text: str) -> Tree:
    try:
        return parse(text)
    except TreeError as error:
        place = f":{error.line}" if error.line else ""
        place += f":{error.column}" if error.column else ""
        raise BadReport(f"{name}{place}: {one_line(str(error))}") from error


def spelled(place: tuple[str | int, ...]) -> str:
    words = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in place)
    return one_line(words.removeprefix(".")) or "the report"

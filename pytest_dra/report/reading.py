"""Reports that come from elsewhere: read in bounds, held against the schema, made harmless.

A report may be anybody's file. Aliases and merge keys, by which a small file can stand for a huge
one, are refused, as is what is larger than any run could make it.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import plain_data
from pytest_dra.report.yaml_report import problems_of
from pytest_dra.spec import Json

SIZE_LIMIT = 32 * 1024 * 1024
"""Bytes of a file; a report of every case failed has less than four mebibytes."""

DEPTH_LIMIT = 64
"""Levels of nesting; a report has ten, and the profile in it may have some more."""

PROBLEMS_SHOWN = 20
STANDARD_INPUT = Path("-")
MERGE = "tag:yaml.org,2002:merge"


class BadReport(Exception):
    """A file is no report; one problem a line, each with file and position."""


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """A report as it was read: ``raw`` is what the checksum is of."""

    file: str
    raw: Json
    text: str

    @property
    def data(self) -> Json:
        """The same, fit to be shown."""
        made: Json = plain_data(self.raw)
        return made


def read(path: Path) -> Report:
    """A report that has the form of the schema.

    Raises:
        BadReport: it cannot be read, or has another form.
    """
    loose = read_loosely(path)
    found = sorted(problems_of(loose.raw), key=lambda each: spelled(each[0]))
    if found:
        lines = [
            f"{path}{position(loose.text, place)}: {spelled(place)}: {one_line(message)}"
            for place, message in found[:PROBLEMS_SHOWN]
        ]
        if len(found) > PROBLEMS_SHOWN:
            lines.append(f"{path}: {len(found) - PROBLEMS_SHOWN} more problems")
        raise BadReport("\n".join(lines))
    return loose


def read_loosely(path: Path) -> Report:
    """A file that says that it is a report, not yet held against the schema.

    Raises:
        BadReport: it cannot be read, or is something else.
    """
    text = _text(path)
    raw = _parsed(path, text)
    if not isinstance(raw, dict) or raw.get("kind") != "ConformanceReport":
        raise BadReport(f"{path}:1: no report of pytest-dra: kind is not ConformanceReport")
    return Report(str(path), raw, text)


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


def _parsed(path: Path, text: str) -> object:
    import yaml

    try:
        value = yaml.load(text, _loader())  # noqa: S506 - the loader is one of the safe ones
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise BadReport(f"{path}{place}: not YAML: {one_line(str(error.problem))}") from error
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise BadReport(f"{path}:{line}: a character that YAML forbids") from error
    except (RecursionError, ValueError) as error:
        raise BadReport(f"{path}: not YAML that a report has: {one_line(str(error))}") from error
    _must_be_a_tree(path, value)
    return value


def _loader() -> Any:
    """One of the safe loaders; merge keys, which can multiply while they are read, are refused."""
    import yaml

    def flatten_mapping(self: Any, node: Any) -> None:
        for key, _ in node.value:
            if key.tag == MERGE:
                raise yaml.MarkedYAMLError(
                    problem="merge keys are refused", problem_mark=key.start_mark
                )

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return type("Loader", (base,), {"flatten_mapping": flatten_mapping})


def _must_be_a_tree(path: Path, value: object) -> None:
    """Refuse what an alias makes two of, and what is nested too deeply for everybody."""
    seen: set[int] = set()
    level = [value]
    for _ in range(DEPTH_LIMIT):
        below: list[object] = []
        for each in level:
            if isinstance(each, (dict, list)):
                if id(each) in seen:
                    raise BadReport(f"{path}: aliases are refused")
                seen.add(id(each))
                below += each.values() if isinstance(each, dict) else each
        if not below:
            return
        level = below
    raise BadReport(f"{path}: nested more than {DEPTH_LIMIT} levels deep")


def position(text: str, place: tuple[str | int, ...]) -> str:
    """``:LINE`` of a value in a report's text, or of the nearest one round it."""
    import yaml

    node = yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for step in place:
        inner = next(_below(node, step), None)
        if inner is None:
            break
        node = inner
    return f":{node.start_mark.line + 1}" if node is not None else ""


def _below(node: Any, step: str | int) -> Iterator[Any]:
    if node.id == "mapping":
        yield from (value for key, value in node.value if key.value == step)
    elif node.id == "sequence" and isinstance(step, int) and step < len(node.value):
        yield node.value[step]


def spelled(place: tuple[str | int, ...]) -> str:
    words = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in place)
    return one_line(words.removeprefix(".")) or "the report"

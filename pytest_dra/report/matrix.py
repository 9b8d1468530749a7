"""Many reports on one page: drivers by areas."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_dra.catalogue import catalogue
from pytest_dra.report import html
from pytest_dra.report.document import DISCLAIMER
from pytest_dra.report.plain import one_line
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import Report
from pytest_dra.report.reading import read_loosely
from pytest_dra.report.results import State
from pytest_dra.report.tree import uncollected
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import worst
from pytest_dra.spec import Level

REPORTS_LIMIT = 1000
"""Files of a directory that are looked at."""

NAME = "report.yaml"
PATTERNS = (NAME, f"*-{NAME}", "*.report.yaml")
"""What reports are called, in the directory and below it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """A driver's cases of one area: passed and applicable MUST and SHOULD cases."""

    state: str
    musts: tuple[int, int]
    shoulds: tuple[int, int]
    detail: str


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One report. ``cells`` are by area."""

    driver: str
    version: str
    kubernetes: str
    depth: str
    verdict: str
    musts: tuple[int, int]
    judged: str
    file: str
    cells: Mapping[str, Cell]


def find(directory: Path, *, limit: int = REPORTS_LIMIT) -> list[Path]:
    """The reports in a directory and below it, sorted.

    Raises:
        BadReport: there is none, or there are more than the limit.
    """
    if not directory.is_dir():
        raise BadReport(f"{directory}: no directory")
    found = sorted({each for pattern in PATTERNS for each in directory.rglob(pattern)})
    if not found:
        raise BadReport(f"{directory}: no report in it ({', '.join(PATTERNS)})")
    if len(found) > limit:
        raise BadReport(f"{directory}: more than {limit} reports")
    return found


def rows(paths: Iterable[Path], *, below: Path) -> tuple[list[Row], list[str]]:
    """A row for each report, by driver and version; and what is wrong with the others."""
    found, problems = [], []
    with uncollected():
        for path in paths:
            try:
                found.append(row(read_loosely(path), below=below))
            except BadReport as error:
                problems.append(str(error).partition("\n")[0])
    return sorted(found, key=lambda each: (each.driver, each.version, each.kubernetes)), problems


def row(report: Report, *, below: Path) -> Row:
    """The row of a report. Only what is shown is looked at: the whole schema takes too long.

    Raises:
        BadReport: something of it is missing, or has another form.
    """
    data = report.raw
    try:
        of, cases = data["verdictOf"], _cases(data["cases"])
        verdict = Verdict(data["verdict"]).value
        main = [each for each in cases if of["profile"] in each.profiles]
        return Row(
            driver=_text(data["driver"]["name"]) or "unnamed driver",
            version=_text(data["implementation"]["version"]),
            kubernetes=_text(of["kubernetes"]),
            depth=_text(of["depth"]),
            verdict=verdict,
            musts=_passed(main, Level.MUST),
            judged=_text(data["startedAt"])[:10],
            file=one_line(Path(report.file).relative_to(below).as_posix()),
            cells={area: _cell([c for c in cases if c.area == area]) for area in catalogue().areas},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        text = one_line(f"{type(error).__name__}: {error}")
        raise BadReport(f"{report.file}: not the form of a report: {text}") from error


@dataclasses.dataclass(frozen=True, slots=True)
class _Case:
    id: str
    area: str
    level: Level
    state: State
    profiles: tuple[str, ...]


def _cases(found: Sequence[Mapping[str, Any]]) -> list[_Case]:
    """The cases that count, one for each id."""
    by_id: dict[str, _Case] = {}
    for each in found:
        if each["provisional"]:
            continue
        case = _Case(
            str(each["id"]),
            str(each["area"]),
            Level(each["level"]),
            State(each["state"]),
            tuple(each["profiles"]),
        )
        known = by_id.get(case.id)
        if known is None or worst((known.state, case.state)) is not known.state:
            by_id[case.id] = case
    return list(by_id.values())


def _passed(cases: Iterable[_Case], level: Level) -> tuple[int, int]:
    states = [
        each.state
        for each in cases
        if each.level is level and each.state is not State.NOT_APPLICABLE
    ]
    return states.count(State.PASSED), len(states)


def _cell(cases: Sequence[_Case]) -> Cell:
    musts = [each for each in cases if each.level is Level.MUST]
    applicable = [each.state for each in musts if each.state is not State.NOT_APPLICABLE]
    shoulds = _passed(cases, Level.SHOULD)
    if applicable:
        state = worst(applicable).value
    elif shoulds[1]:
        state = State.PASSED.value if shoulds[0] == shoulds[1] else State.NOT_RUN.value
    else:
        state = State.NOT_APPLICABLE.value
    bad = [
        f"{each.id} {each.state.value}"
        for each in cases
        if each.state not in (State.PASSED, State.NOT_APPLICABLE)
    ]
    return Cell(state, _passed(cases, Level.MUST), shoulds, one_line(", ".join(bad)))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return one_line(value)


def render(found: Sequence[Row], problems: Sequence[str]) -> str:
    """The page."""
    return html.page(
        "matrix.html",
        rows=found,
        problems=[one_line(each) for each in problems],
        areas=catalogue().areas,
        disclaimer=DISCLAIMER,
    )

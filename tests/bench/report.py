"""What the report family costs: ``python -m tests.bench.report`` measures and prints it.

Processor seconds, so that what else runs on the machine hardly matters; the first writing of a
process, with its imports, since a run writes its report once. Nothing is asserted.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pytest_dra.catalogue import catalogue
from pytest_dra.report.figures import METHODS
from pytest_dra.report.figures import Figures
from pytest_dra.report.results import EXCERPT_LINES
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.results import failed
from pytest_dra.report.steps import STEPS_LIMIT
from pytest_dra.report.steps import Party
from pytest_dra.report.steps import Step
from pytest_dra.report.verdict import summarise
from pytest_dra.report.writing import PAGE
from pytest_dra.report.writing import REPORT
from pytest_dra.report.writing import write_reports
from pytest_dra.spec import Violation
from tests.bench.goal import Goal
from tests.report.running import run_of

RUNS: Final = 3
REPORTS: Final = 100
"""Reports of a matrix."""

FAILURES: Final = (0, 50, 200)
ASKED: Final = 50
"""The number of failures that the goals speak of."""

LIMIT_S: Final = 120.0
"""Longest single measurement: far above every goal."""

TEXT: Final = (
    "NodePrepareResources [dra-4b65f4/claim-4ca55a42 (882cdca5-8ecd-4d60-86ec-0fb2836285c3)] -> OK "
    '{"882cdca5-8ecd-4d60-86ec-0fb2836285c3": {"devices": [{"pool_name": "node-a", (0.004 s)'
)
"""A line of a timeline of ordinary length."""

WRITTEN: Final = Goal("report family of 257 cases", "s", 1.0)
SIZE: Final = Goal("report.html with 50 failures", "MB", 1.5)
MATRIX: Final = Goal("matrix of 100 reports", "s", 3.0)


def run_with(failures: int) -> RunResult:
    """A run of every case, of which the first ones failed at length."""
    results = []
    for number, case in enumerate(catalogue().cases.values()):
        if number < failures:
            results.append(_failed(case.id))
        else:
            results.append(CaseResult(case=case, state=State.PASSED, duration_s=0.25))
    calls = {method: [0.5 + number / 10 for number in range(500)] for method in METHODS}
    return dataclasses.replace(
        run_of(results=tuple(results)),
        figures=Figures(calls_ms=calls, published_s=(1.5,) * 10, idle_s=300.0),
    )


def _failed(id_: str) -> CaseResult:
    parties = list(Party)
    steps = (
        Step(
            at=number / 10,
            serial=number,
            source=parties[number % len(parties)],
            target=parties[(number + 1) % len(parties)],
            text=TEXT,
            decides=number == STEPS_LIMIT // 2,
        )
        for number in range(STEPS_LIMIT)
    )
    violation = Violation("Prepare of a claim", got={"devices": [TEXT]}, want="an entry for it")
    return failed(
        catalogue().case(id_), violation, excerpt=[TEXT] * (EXCERPT_LINES // 2), steps=steps
    )


def write(failures: int, directory: Path) -> float:
    """Processor seconds of writing all files."""
    run = run_with(failures)
    began = time.process_time()
    write_reports(run, summarise(run), directory, summaries=[directory / "summary.md"])
    return time.process_time() - began


def matrix(directory: Path) -> float:
    """Processor seconds of the page of many reports, the command's start left out."""
    began = time.process_time()
    from pytest_dra.commands.report import run

    run(["matrix", str(directory), "--to", str(directory / "matrix.html")])
    return time.process_time() - began


def _apart(*arguments: str) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.report", *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return float(done.stdout)


def figures(say: Callable[[str], object]) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="dra-report-") as made:
        place = Path(made)
        for failures in FAILURES:
            name = f"report family, {failures} failures"
            seconds = [_apart("write", str(failures), made) for _ in range(RUNS)]
            goal = WRITTEN if failures <= ASKED else dataclasses.replace(WRITTEN, most=3.0)
            say(dataclasses.replace(goal, name=name).line(seconds))
            size = (place / PAGE).stat().st_size / 1e6
            if failures == ASKED:
                say(SIZE.line([size]))
            else:
                say(f"{f'report.html, {failures} failures':34} {size:8.2f} MB\n")
        write(0, place)
        text = (place / REPORT).read_text(encoding="utf-8")
        for number in range(REPORTS):
            folder = place / "many" / str(number)
            folder.mkdir(parents=True)
            (folder / REPORT).write_text(text, encoding="utf-8")
        say(MATRIX.line([_apart("matrix", str(place / "many")) for _ in range(RUNS)]))


def main() -> None:
    """All figures, or one measurement in this process."""
    what = sys.argv[1:]
    if what[:1] == ["write"]:
        sys.stdout.write(f"{write(int(what[1]), Path(what[2]))}\n")
    elif what[:1] == ["matrix"]:
        sys.stdout.write(f"{matrix(Path(what[1]))}\n")
    else:
        figures(sys.stdout.write)


if __name__ == "__main__":
    main()

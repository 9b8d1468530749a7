"""The same run again: ``python -m tests.soak.repeats [--runs N] [--beside M] [--output DIR]``.

The whole suite on the fake driver, each run in a process and an empty folder of its own, ``M`` of
them beside each other all the time: with as many as there are processors these are kept busy.
Prints a line for each run; exits 1 if a case of any of them was neither passed nor not-applicable.
What such a run has printed is kept in the folder of ``--output``.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_dra.report.writing import REPORT
from tests.sweep.pool import USUAL
from tests.sweep.pool import read_report
from tests.variants.varied import not_green

RUNS = 100
LIMIT_S = 600.0
"""Longest run: one on a busy machine takes two minutes."""

OUTPUT_TAIL = 2000
"""Characters of the end of what a run has printed that are shown where it has no report."""


@dataclasses.dataclass(frozen=True, slots=True)
class Repeat:
    """Seconds of one run, what was wrong with it (empty if nothing was), and what it printed."""

    seconds: float
    problem: str
    printed: str = ""


def once(arguments: list[str]) -> Repeat:
    """One run."""
    with tempfile.TemporaryDirectory(prefix="dra-repeats-") as empty:
        began = time.perf_counter()
        argv = [sys.executable, "-m", "pytest", *USUAL, "--dra-driver=fake", *arguments]
        try:
            done = subprocess.run(
                argv, cwd=empty, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return Repeat(time.perf_counter() - began, f"no end within {LIMIT_S:g} s")
        seconds = time.perf_counter() - began
        problem = _wrong(done, Path(empty) / "dra-results" / REPORT)
        return Repeat(seconds, problem, done.stdout)


def _wrong(done: subprocess.CompletedProcess[str], file: Path) -> str:
    if not file.exists():
        return f"no report, exit status {done.returncode}: {done.stdout[-OUTPUT_TAIL:]}"
    cases = {each["id"]: each for each in read_report(file)["cases"]}
    found = not_green({id: each["state"] for id, each in cases.items()})
    told = [f"{id} {state}: {cases[id].get('reason', '')}" for id, state in found.items()]
    if done.returncode and not told:
        told = [f"exit status {done.returncode}"]
    return "; ".join(told)


def runs(count: int, beside: int, arguments: list[str]) -> Iterator[Repeat]:
    """So many runs, as they end."""
    with ThreadPoolExecutor(beside) as pool:
        yield from pool.map(lambda _: once(arguments), range(count))


def main(arguments: list[str]) -> int:
    """Run, and tell what was found."""
    parser = argparse.ArgumentParser(prog="tests.soak.repeats")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--beside", type=int, default=1)
    parser.add_argument("--output", type=Path, default=None)
    options, more = parser.parse_known_args(arguments)
    wrong: list[str] = []
    seconds: list[float] = []
    for number, each in enumerate(runs(options.runs, options.beside, more), 1):
        seconds.append(each.seconds)
        wrong += [each.problem] if each.problem else []
        if each.problem and options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            (options.output / f"{number}.txt").write_text(each.printed, "utf-8")
        sys.stdout.write(f"{number:3} {each.seconds:6.1f} s  {each.problem or 'passed'}\n")
        sys.stdout.flush()
    sys.stdout.write(
        f"{len(seconds)} runs, {options.beside} beside each other: {len(wrong)} not passed; "
        f"{min(seconds):.1f} to {max(seconds):.1f} s, median {statistics.median(seconds):.1f} s\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Each fault against its own case and area: exactly that case must fail.

``python -m tests.faults.run [--output DIR] [FAULT...]``; three drivers at a time. Exits 1 where a
fault is not found, or finds more than it should.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.faulty import BENCHES
from tests.faults.faulty import also_failing
from tests.faults.faulty import faults
from tests.faults.faulty import judge

PARALLEL = 3
"""Runs at a time: a run mostly waits."""

ALONE = {"SLICE-005": "SLICE-005"}
"""Faults that are run against these cases instead of their area: with a pool that is never whole
much of the area waits for its deadlines, three minutes in all."""


def difference(fault: str, *, cases: str, output: Path | None = None) -> str:
    """What is wrong with the run on one fault; empty if exactly the right cases fail."""
    try:
        verdict = judge(fault=fault, cases=cases, output=output)
    except subprocess.TimeoutExpired as error:
        return f"no end within {error.timeout:g} s"
    wanted = {fault} | {
        id for id in also_failing(fault) if not cases or id.split("-")[0] == fault.split("-")[0]
    }
    if verdict.errored:
        return f"errored: {', '.join(sorted(verdict.errored))}"
    if fault not in verdict.failed:
        return "its own case does not fail"
    more, less = verdict.failed - wanted, wanted - verdict.failed
    return "; ".join(
        [f"also fails {id}" for id in sorted(more)] + [f"{id} does not fail" for id in sorted(less)]
    )


def main(arguments: list[str]) -> int:
    """Run all faults or those named; prints one line each and a closing line."""
    os.environ.setdefault(*BENCHES)
    parser = argparse.ArgumentParser(prog="tests.faults.run")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--whole", action="store_true", help="against the whole suite")
    parser.add_argument("fault", nargs="*")
    options = parser.parse_args(arguments)
    chosen = options.fault or faults()
    wrong = 0

    def one(fault: str) -> tuple[str, str, float]:
        began = time.monotonic()
        output = options.output / fault if options.output else None
        cases = "" if options.whole else ALONE.get(fault, fault.split("-")[0])
        problem = difference(fault, cases=cases, output=output)
        if problem:
            # Three suites at a time on two cores: whether it was the load is told, and not hidden.
            sys.stdout.write(f"{fault} at the first try: {problem}\n")
            problem = difference(fault, cases=cases, output=output)
        return fault, problem, time.monotonic() - began

    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        for fault, problem, took in pool.map(one, chosen):
            wrong += bool(problem)
            sys.stdout.write(f"{fault} {took:5.1f} s  {problem or 'exactly its own case fails'}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - wrong} passed, {wrong} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

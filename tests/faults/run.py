"""Each fault against its own case and area: exactly that case must fail.

``python -m tests.faults.run [--output DIR] [FAULT...]``; as many drivers at a time as the machine
has room for. Exits 1 where a fault is not found, or finds more than it should.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.faulty import also_failing
from tests.faults.faulty import faults
from tests.faults.faulty import job
from tests.faults.faulty import patience
from tests.faults.faulty import verdict
from tests.sweep.pool import AGAIN
from tests.sweep.pool import Ended
from tests.sweep.pool import Job
from tests.sweep.pool import Pool

LONG = ("RST", "SLICE", "REG")
"""Areas that take longest: first, so that none of them is left alone at the end."""


def area(fault: str) -> str:
    """The cases that a fault is run against."""
    return fault.split("-")[0]


def difference(fault: str, ended: Ended) -> str:
    """What is wrong with the run on one fault; empty if exactly the right cases fail."""
    try:
        found = verdict(ended)
    except RuntimeError as error:
        return str(error)
    wanted = {fault} | {id for id in also_failing(fault) if area(id) == area(fault)}
    if found.errored:
        return f"errored: {', '.join(sorted(found.errored))}"
    if fault not in found.failed:
        return "its own case does not fail"
    more, less = found.failed - wanted, wanted - found.failed
    return "; ".join(
        [f"also fails {id}" for id in sorted(more)] + [f"{id} does not fail" for id in sorted(less)]
    )


def in_order(chosen: list[str]) -> list[str]:
    """The longest first."""
    return sorted(chosen, key=lambda fault: (patience(fault), area(fault) not in LONG, fault))


def sweep(chosen: list[str], root: Path) -> int:
    """Run these faults, and print a line each; how many are not as they must be."""

    def one(fault: str, more: str = "") -> Job:
        name = f"{fault}{more}"
        return job(fault, cases=area(fault), directory=root / name, name=name)

    wrong = 0
    pool = Pool(one(fault) for fault in in_order(chosen))
    for ended in pool:
        fault = ended.job.subject
        problem = difference(fault, ended)
        if problem and ended.job.is_first:
            # Many runs at a time on few cores: whether it was the load is told, and not hidden.
            sys.stdout.write(f"{fault} at the first try: {problem}\n")
            pool.add(one(fault, AGAIN))
            continue
        wrong += bool(problem)
        said = problem or "exactly its own case fails"
        sys.stdout.write(f"{fault} {ended.seconds:5.1f} s  {said}\n")
        sys.stdout.flush()
    return wrong


def main(arguments: list[str]) -> int:
    """Run all faults or those named; prints one line each and a closing line."""
    parser = argparse.ArgumentParser(prog="tests.faults.run")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("fault", nargs="*")
    options = parser.parse_args(arguments)
    chosen = options.fault or faults()
    with tempfile.TemporaryDirectory(prefix="dra-faults-") as scratch:
        root = options.output.absolute() if options.output else Path(scratch)
        wrong = sweep(chosen, root)
    sys.stdout.write(f"{len(chosen) - wrong} passed, {wrong} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

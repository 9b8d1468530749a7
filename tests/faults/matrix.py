"""The whole matrix: every fault against every case, into ``matrix.json``.

``python -m tests.faults.matrix [--cases PATTERNS] [[--again] FAULT...]`` (``tox -e proof``). The
file says for each fault which cases failed, errored and were blocked, with the commit and date of
the run, and which cases were judged. With ``--cases`` the matrix is of these cases and their faults
alone. With ``--again`` the rows named are put in place of those in the file, each with its own
commit.

It takes long, and goes on where it was ended: what it has found so far is in ``matrix.part.json``,
and good for the same commit and cases.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from pytest_dra.selection import select
from tests.faults.faulty import also_failing
from tests.faults.faulty import faults
from tests.faults.faulty import job
from tests.faults.faulty import patience
from tests.faults.faulty import verdict
from tests.sweep.pool import AGAIN
from tests.sweep.pool import Ended
from tests.sweep.pool import Job
from tests.sweep.pool import Pool

MATRIX = Path(__file__).with_name("matrix.json")
PART = Path(__file__).with_name("matrix.part.json")
GIT_LIMIT_S = 30.0

GOOD = "good"
"""The row of the driver without a fault."""

DIRTY = "-dirty"
"""Git's mark after a commit that is not what lies there: then nothing is gone on with."""

Row = Mapping[str, Any]


def row_of(ended: Ended, chosen: Collection[str]) -> Row:
    """One fault against the cases chosen."""
    try:
        found = verdict(ended)
    except RuntimeError as error:
        return {"problem": str(error), "failed": [], "errored": [], "not-run": [], "passed": 0}
    ran = found.failed | found.errored | found.passed
    every = {entry["id"] for entry in found.report["cases"]} & set(chosen)
    return {
        "failed": sorted(found.failed),
        "errored": sorted(found.errored),
        "not-run": sorted(every - ran),
        "passed": len(found.passed),
    }


def is_as_reviewed(name: str, row: Row, chosen: Collection[str]) -> bool:
    """True if exactly the right cases fail."""
    expected = set() if name == GOOD else {name} | (also_failing(name) & set(chosen))
    return set(row["failed"]) == expected and not row["errored"] and "problem" not in row


def commit() -> str:
    """What is checked out, with a mark if files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--abbrev=40", "--exclude=*", f"--dirty={DIRTY}"],  # noqa: S607 (git)
        capture_output=True,
        text=True,
        timeout=GIT_LIMIT_S,
        check=True,
        cwd=MATRIX.parent,
    )
    return done.stdout.strip()


class Part:
    """The rows that are there already, on disk after each of them."""

    def __init__(self, cases: Iterable[str]) -> None:
        self._head: dict[str, Any] = {"commit": commit(), "cases": sorted(cases)}
        self.rows: dict[str, Row] = {}
        if PART.exists() and not self._head["commit"].endswith(DIRTY):
            found = json.loads(PART.read_text("utf-8"))
            if {key: found[key] for key in self._head} == self._head:
                self.rows = found["rows"]

    def add(self, name: str, row: Row) -> None:
        """Keep a row."""
        self.rows[name] = row
        PART.write_text(json.dumps({**self._head, "rows": self.rows}), "utf-8")

    def finish(self) -> None:
        """Write the matrix; nothing is left to go on with."""
        data = {
            **self._head,
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "good": self.rows[GOOD],
            "faults": {name: row for name, row in self.rows.items() if name != GOOD},
        }
        MATRIX.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")
        PART.unlink()


def put(rows: Mapping[str, Row]) -> None:
    """Write these rows in place of those that the matrix has."""
    data, now = json.loads(MATRIX.read_text("utf-8")), commit()
    for name, row in rows.items():
        data["faults"][name] = {**row, "commit": now}
    MATRIX.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")


def sweep(
    names: Iterable[str],
    chosen: Collection[str],
    cases: str,
    root: Path,
    keep: Callable[[str, Row], None],
) -> None:
    """Run these rows; one that is not as reviewed a second time, since it may be the load."""

    def one(name: str, more: str = "") -> Job:
        fault = "" if name == GOOD else name
        return job(fault, cases=cases, directory=root / f"{name}{more}", name=f"{name}{more}")

    pool = Pool(one(name) for name in sorted(names, key=patience))
    for ended in pool:
        name = ended.job.subject
        row = row_of(ended, chosen)
        fails = ", ".join(row["failed"]) or row.get("problem", "-")
        sys.stdout.write(f"{ended.job.name:10} {ended.seconds:5.1f} s  fails {fails}\n")
        sys.stdout.flush()
        if not is_as_reviewed(name, row, chosen) and ended.job.is_first:
            pool.add(one(name, AGAIN))
        else:
            keep(name, row if ended.job.is_first else {**row, "tries": 2})


def main(arguments: list[str]) -> int:
    """Compute, write, and say whether it is what was reviewed."""
    parser = argparse.ArgumentParser(prog="tests.faults.matrix")
    parser.add_argument("--cases", default="", help="ids, areas, patterns, as for --dra-case")
    parser.add_argument("fault", nargs="*", help="these rows only; nothing is written then")
    parser.add_argument("--again", action="store_true", help="write these rows")
    options = parser.parse_args(arguments)
    chosen = select(options.cases, implemented(), catalogue().cases)
    wanted = options.fault or [GOOD, *(fault for fault in faults() if fault in chosen)]
    part = Part(chosen)
    sys.stdout.write(f"{len(wanted)} rows, {len(part.rows)} of them are there already\n")
    rows: dict[str, Row] = {} if options.fault else part.rows
    keep = rows.__setitem__ if options.fault else part.add
    with tempfile.TemporaryDirectory(prefix="dra-matrix-") as scratch:
        left = [name for name in wanted if name not in rows]
        sweep(left, chosen, options.cases, Path(scratch), keep)
    wrong = [name for name in wanted if not is_as_reviewed(name, rows[name], chosen)]
    if not options.fault:
        part.finish()
    elif options.again:
        put(rows)
    sys.stdout.write(f"{len(wanted) - len(wrong)} passed, {len(wrong)} failed\n")
    for each in wrong:
        sys.stdout.write(f"not as reviewed: {each} fails {', '.join(rows[each]['failed'])}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

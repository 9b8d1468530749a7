"""The whole matrix: every fault against every case, into ``matrix.json``.

``python -m tests.faults.matrix [--cases PATTERNS] [FAULT...]`` (``tox -e proof``). The file says
for each fault which cases failed, errored and were blocked, with the commit and date of the run,
and which cases were judged. With ``--cases`` the matrix is of these cases and their faults alone.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pytest_dra.cases import implemented
from pytest_dra.catalogue import catalogue
from pytest_dra.selection import select
from tests.faults.faulty import also_failing
from tests.faults.faulty import faults
from tests.faults.faulty import judge

MATRIX = Path(__file__).with_name("matrix.json")
PARALLEL = 2
GIT_LIMIT_S = 30.0


def row(fault: str, cases: str) -> dict[str, Any]:
    """One fault (empty: the good driver) against the suite, or the cases named."""
    verdict = judge(fault=fault, cases=cases)
    ran = verdict.failed | verdict.errored | verdict.passed
    chosen = select(cases, implemented(), catalogue().cases)
    every = {entry["id"] for entry in verdict.report["cases"]} & chosen
    return {
        "failed": sorted(verdict.failed),
        "errored": sorted(verdict.errored),
        "not-run": sorted(every - ran),
        "passed": len(verdict.passed),
    }


def main(arguments: list[str]) -> int:
    """Compute, write, and say whether it is what was reviewed."""
    parser = argparse.ArgumentParser(prog="tests.faults.matrix")
    parser.add_argument("--cases", default="", help="ids, areas, patterns, as for --dra-case")
    parser.add_argument("fault", nargs="*")
    options = parser.parse_args(arguments)
    chosen = select(options.cases, implemented(), catalogue().cases)
    wanted = options.fault or ["", *(fault for fault in faults() if fault in chosen)]
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        made = pool.map(row, wanted, [options.cases] * len(wanted))
        rows = dict(zip(wanted, made, strict=True))
    wrong = []
    for fault, found in rows.items():
        expected = {fault} | (also_failing(fault) & chosen) if fault else set()
        if set(found["failed"]) != expected or found["errored"]:
            wrong.append(fault or "the good driver")
        sys.stdout.write(f"{fault or 'none':10} fails {', '.join(found['failed']) or '-'}\n")
    if not options.fault:
        _write(rows, chosen)
    sys.stdout.write(f"{len(rows) - len(wrong)} passed, {len(wrong)} failed\n")
    for each in wrong:
        sys.stdout.write(f"not as reviewed: {each}\n")
    return 1 if wrong else 0


def _write(rows: dict[str, dict[str, Any]], cases: Collection[str]) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],  # noqa: S607 - the developer's own git
        capture_output=True,
        text=True,
        timeout=GIT_LIMIT_S,
        check=True,
    ).stdout.strip()
    data = {
        "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "cases": sorted(cases),
        "good": rows[""],
        "faults": {fault: found for fault, found in rows.items() if fault},
    }
    MATRIX.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

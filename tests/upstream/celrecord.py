"""Record answers: ``python -m tests.upstream.celrecord 37=ORACLE 36=ORACLE... < questions > rows``.

Questions are lines: an expression, or an object in the oracle's form. Rows are what
``tests.upstream.cel`` reads: the answer of the newest release in ``want``, older ones in ``older``
where they differ. What differs from one run to the next hangs on Go's order of maps and is noted
as ``unstable``. A line ``# AREA`` names the area of those behind it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_dra.cel.environments import MINORS
from tests.upstream.cel import DEVICES
from tests.upstream.celfuzz import as_want
from tests.upstream.celfuzz import ask

RUNS = 5
"""Times that each question is asked."""

Answers = list[dict[str, Any]]


def questions(lines: Iterable[str]) -> Answers:
    """Questions of the input, with ids."""
    found: Answers = []
    area = "unusual"
    for line in filter(None, (line.rstrip("\n") for line in lines)):
        if line.startswith("# "):
            area = line[2:]
            continue
        question = json.loads(line) if line.startswith('{"') else {"expression": line}
        given = {"kind": "value", "device": "gpu", **question}
        found.append({"id": f"{area}-{len(found):04d}", "area": area, **given})
    return found


def answers(oracle: str, asked: Answers) -> list[Answers]:
    """The answers of several runs, by question."""
    lines = [json.dumps(question) for question in asked]
    runs = [
        [as_want(one) for one in ask(oracle, lines, "-devices", str(DEVICES))] for _ in range(RUNS)
    ]
    return [list(group) for group in zip(*runs, strict=True)]


def unstable(group: Answers) -> list[str]:
    """Fields that are not the same in all runs."""
    keys = {key for one in group for key in one}
    return sorted(key for key in keys if any(one.get(key) != group[0].get(key) for one in group))


def rows(asked: Answers, oracles: dict[int, str]) -> Iterable[dict[str, Any]]:
    """Questions with their answers."""
    found = {minor: answers(oracle, asked) for minor, oracle in oracles.items()}
    newest = max(found)
    for index, question in enumerate(asked):
        row = {**question, "want": found[newest][index][0]}
        older = {
            f"0.{minor}": group[index][0]
            for minor, group in sorted(found.items())
            if minor != newest and group[index][0] != row["want"]
        }
        if older and question["kind"] != "derived":
            row["older"] = older
        shaky = {key for group in found.values() for key in unstable(group[index])}
        if shaky:
            row["unstable"] = sorted(shaky)
        yield row


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("oracles", nargs="+", metavar="MINOR=ORACLE")
    pairs = [one.split("=", 1) for one in parser.parse_args().oracles]
    oracles = {int(minor): str(Path(path)) for minor, path in pairs}
    if not set(oracles) <= set(MINORS):
        parser.error(f"want releases among {MINORS}")
    for row in rows(questions(sys.stdin), oracles):
        sys.stdout.write(json.dumps(row, ensure_ascii=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

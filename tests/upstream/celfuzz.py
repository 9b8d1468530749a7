"""Differential fuzz: ``python -m tests.upstream.celfuzz ORACLE [--start N] [--count N]``.

ORACLE is the program that answers questions with the Go package. Answers that differ are printed
and, with ``--keep``, written as rows that ``tests.upstream.cel`` reads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pytest_dra.cel.environments import MINORS
from tests.upstream import cel
from tests.upstream import celgrammar

BATCH = 2000
TIMEOUT = 300.0
FAULTS = {"attribute-version", "unsupported-attribute"}


def as_want(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer as rows hold it: classes instead of messages."""
    made = {key: value for key, value in answer.items() if key != "id"}
    for problem in made.get("problems", ()):
        problem.pop("message", None)
    if "error" in made:
        made["error"] = made["error"]["class"]
    return made


def ask(oracle: str, lines: list[str], *options: str) -> list[dict[str, Any]]:
    """The oracle's answers to questions."""
    done = subprocess.run(  # the oracle is named by the developer
        [oracle, *options], input="\n".join(lines) + "\n", capture_output=True, text=True,
        timeout=TIMEOUT, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def unstable(question: dict[str, Any]) -> bool:
    """True where the answer hangs on the order in which Go walks a map."""
    text = question["expression"]
    return "device.attributes" in text and any(
        f"].{word}" in text or f"attributes.{word}" in text
        for word in ("all(", "exists", "map(", "filter(", "transform", "optMap")
    )


def run(oracle: str, minor: int, start: int, count: int, keep: Path | None) -> Counter[str]:
    """Compare ``count`` questions."""
    counts: Counter[str] = Counter()
    for first in range(start, start + count, BATCH):
        size = min(BATCH, start + count - first)
        lines = celgrammar.lines(first, size, lists=minor == MINORS[-1])
        for line, answer in zip(lines, ask(oracle, lines), strict=True):
            question, want = json.loads(line), as_want(answer)
            got = cel.answer(question, minor)
            if {want.get("error"), got.get("error")} == FAULTS:
                # Of two faults of a device Go meets either first.
                got["error"] = want["error"]
            found = cel.difference(question, want, got)
            counts["differ" if found else "agree"] += 1
            counts["compiles" if want["compile"] == "ok" else "does not compile"] += 1
            if "error" in want:
                counts["error " + want["error"]] += 1
            if found:
                report(question, want, found, keep)
    return counts


def report(
    question: dict[str, Any], want: dict[str, Any], found: list[str], keep: Path | None
) -> None:
    """Show a difference and keep its row."""
    where = f"{question['id']} {question['expression']}"
    sys.stdout.write(where + "\n" + "".join(f"    {text[:300]}\n" for text in found))
    if keep is not None:
        with keep.open("a") as rows:
            rows.write(json.dumps({**question, "want": want}) + "\n")


def main() -> int:
    """The command; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("oracle")
    parser.add_argument("--minor", type=int, default=MINORS[-1], choices=MINORS)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    counts = run(
        arguments.oracle, arguments.minor, arguments.start, arguments.count, arguments.keep
    )
    for name, number in sorted(counts.items()):
        sys.stdout.write(f"{number:8} {name}\n")
    sys.stdout.write(f"{counts['agree']} agree, {counts['differ']} differ\n")
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())

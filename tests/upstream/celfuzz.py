"""Differential fuzz: ``python -m tests.upstream.celfuzz ORACLE [--draw HOW] [--count N]``.

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
from tests.upstream import celtemplates
from tests.upstream import celtexts

BATCH = 2000
TIMEOUT = 300.0
FAULTS = {"attribute-version", "unsupported-attribute"}
DRAWN = ("grammar", "templates", "texts")
"""How questions are drawn: by signatures, by templates of selectors, or texts to be parsed."""

AGAIN = 60
"""Times that a question is asked again whose answer is not ours."""


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


def drawn(how: str, minor: int, start: int, count: int) -> list[dict[str, Any]]:
    """Questions by one of :data:`DRAWN`."""
    if how == "grammar":
        lines = celgrammar.lines(start, count, lists=minor == MINORS[-1])
        return [json.loads(line) for line in lines]
    draw = celtemplates.question if how == "templates" else celtexts.question
    return [draw(seed) for seed in range(start, start + count)]


def differences(question: dict[str, Any], want: dict[str, Any], minor: int) -> list[str]:
    """What differs from an answer of the oracle."""
    got = cel.answer(question, minor)
    if {want.get("error"), got.get("error")} == FAULTS:
        # Of two faults of a device Go meets either first.
        got["error"] = want["error"]
    return cel.difference(question, want, got)


def run(arguments: argparse.Namespace) -> Counter[str]:
    """Compare questions."""
    oracle, minor, keep = arguments.oracle, arguments.minor, arguments.keep
    counts: Counter[str] = Counter()
    end = arguments.start + arguments.count
    for first in range(arguments.start, end, BATCH):
        questions = drawn(arguments.draw, minor, first, min(BATCH, end - first))
        answers = ask(oracle, [json.dumps(one) for one in questions], "-devices", str(cel.DEVICES))
        for question, answer in zip(questions, answers, strict=True):
            want = as_want(answer)
            found = differences(question, want, minor)
            if found and agrees_at_times(oracle, question, minor):
                found = []
                counts["hang on the order of a map"] += 1
            counts["differ" if found else "agree"] += 1
            counts["compiles" if want["compile"] == "ok" else "does not compile"] += 1
            if "error" in want:
                counts["error " + want["error"]] += 1
            if found:
                report(question, want, found, keep)
    return counts


def agrees_at_times(oracle: str, question: dict[str, Any], minor: int) -> bool:
    """True where one of several answers is ours: Go walks maps in random order."""
    lines = [json.dumps(question)] * AGAIN
    answers = ask(oracle, lines, "-devices", str(cel.DEVICES))
    return any(not differences(question, as_want(answer), minor) for answer in answers)


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
    parser.add_argument("--draw", default=DRAWN[0], choices=DRAWN)
    parser.add_argument("--keep", type=Path)
    counts = run(parser.parse_args())
    for name, number in sorted(counts.items()):
        sys.stdout.write(f"{number:8} {name}\n")
    sys.stdout.write(f"{counts['agree']} agree, {counts['differ']} differ\n")
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compare the CEL engine with stored answers of the Go package: ``python -m tests.upstream.cel``.

Arguments are files with one question a line and the answer to it in ``want``; ``older`` holds
whole answers of older releases where they differ. Ends with ``N agree, M differ``; exit 1 if any
differ. Every row is asked for every release that it speaks for.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_dra.cel import devices
from pytest_dra.cel import program
from pytest_dra.cel.derived import attribute_of
from pytest_dra.cel.environments import COST_MAX
from pytest_dra.cel.environments import MINORS
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.environments import environment
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.errors import EvaluationError
from pytest_dra.cel.errors import Problem
from tests.upstream.rendering import rendered

DEVICES = Path(__file__).parent / "cel-devices.json"
NAMED: dict[str, Any] = json.loads(DEVICES.read_text())
SYNTAX = frozenset({"syntax", "reserved", "literal-string", "literal-number", "limit", "macro"})
CODE_PROBLEMS_MAX = 4
BOUNDED = "bounded"
"""Class of our error where the reference takes minutes, or all the memory that there is."""


def position(expression: str, offset: int) -> tuple[int | None, int | None]:
    """Line and column as the oracle gives them."""
    if offset < 0:
        return None, None
    before = expression[:offset]
    column = offset - (before.rfind("\n") + 1) + 1
    # There is no column in an empty text.
    return before.count("\n") + 1, column if expression else None


def problem_answer(expression: str, problem: Problem) -> dict[str, Any]:
    """One problem in the oracle's form."""
    line, column = position(expression, problem.offset)
    if problem.kind == "limit":
        line, column = -1, None
    parts = {"line": line, "col": column, "class": problem.kind}
    return {key: value for key, value in parts.items() if value is not None}


def environment_of(question: dict[str, Any], minor: int) -> Environment:
    """The environment that a question asks for."""
    return environment(
        minor,
        stored=question.get("mode") != "new",
        features=frozenset(question.get("features") or ()),
    )


def answer(question: dict[str, Any], minor: int) -> dict[str, Any]:
    """Our answer to a question, in the oracle's form."""
    env = environment_of(question, minor)
    expression, kind = question["expression"], question.get("kind") or "selector"
    compilers = {
        "selector": program.compile_selector,
        "derived": program.compile_derived,
        "value": program.compile_any,
    }
    try:
        compiled = compilers[kind](expression, env)
    except CompileError as error:
        problems = [problem_answer(error.expression, one) for one in error.problems]
        return {
            "compile": "error",
            "problems": problems[:CODE_PROBLEMS_MAX],
            "admission": "invalid",
        }
    cost = compiled.estimate()
    made: dict[str, Any] = {"compile": "ok", "outputType": str(compiled.output), "maxCost": cost}
    made["admission"] = program.admission(expression, cost)
    device = question.get("device") or {}
    device = NAMED[device] if isinstance(device, str) else device
    made.update(evaluated(question, compiled, device))
    return made


def evaluated(
    question: dict[str, Any], compiled: program.Program, device: dict[str, Any]
) -> dict[str, Any]:
    """The part of an answer that comes from the evaluation."""
    kind = question.get("kind") or "selector"
    try:
        value = devices.device_value(device.get("driver", ""), device, lists=compiled.env.lists)
    except EvaluationError as error:
        return {"error": error.kind}
    limit = question.get("costLimit")
    outcome = compiled.evaluate(value, COST_MAX if limit is None else limit)
    if kind == "selector":
        outcome = program.selected(outcome)
    elif kind == "derived":
        outcome = attribute_of(outcome)
    made: dict[str, Any] = {"actualCost": outcome.cost}
    if outcome.error is not None:
        made["error"] = outcome.error.kind
    else:
        made["result"] = rendered(outcome.value) if kind == "value" else outcome.value
    return made


def difference(question: dict[str, Any], want: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """What differs, in words."""
    unstable = set(question.get("unstable") or ())
    found = []
    if want["compile"] == "error" and want["problems"][0]["class"] == "panic":
        return [] if got["compile"] == "error" else ["compiles, where the reference breaks down"]
    keys = ["compile", "problems", "outputType", "maxCost", "admission"]
    if got.get("error") != BOUNDED:
        keys += ["result", "error", "actualCost"]
    for key in keys:
        if key in unstable or (key in ("maxCost", "admission") and "maxCost" not in want):
            continue
        expected, given = want.get(key), got.get(key)
        if key == "problems" and expected and given and expected[0]["class"] in SYNTAX:
            # How a parser goes on after an error is its own business.
            expected, given = expected[:1], given[:1]
        if key == "result":
            given = masked(expected, given)
        if json.dumps(expected, sort_keys=True) != json.dumps(given, sort_keys=True):
            found.append(f"{key}: want {expected}, got {given}")
    return found


def masked(want: Any, got: Any) -> Any:
    """Texts of the reference's messages are not stored, so any text will do."""
    if want == "<message>" and isinstance(got, dict) and "string" in got:
        return want
    if isinstance(want, dict) and isinstance(got, dict):
        return {key: masked(want.get(key), value) for key, value in got.items()}
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [masked(one, other) for one, other in zip(want, got, strict=False)]
    return got


def questions(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a file."""
    with path.open() as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def asked(
    question: dict[str, Any], minors: tuple[int, ...]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The releases for which a row holds an answer, and the answers."""
    older = question.get("older") or {}
    for minor in minors:
        if minor == MINORS[-1]:
            yield minor, question["want"]
        elif question.get("kind") != "derived":
            yield minor, older.get(f"0.{minor}", question["want"])


def compare(path: Path, minors: tuple[int, ...]) -> dict[int, list[int]]:
    """Agreeing and differing rows by release; differences are printed."""
    counts = {minor: [0, 0] for minor in minors}
    for question in questions(path):
        for minor, want in asked(question, minors):
            got = answer(question, minor)
            found = difference(question, want, got)
            counts[minor][1 if found else 0] += 1
            notes = ["agrees as bounded"] if got.get("error") == BOUNDED else []
            for text in [*found, *notes]:
                where = f"{question['id']} 1.{minor} {question['expression'][:100]!r}"
                sys.stdout.write(f"{where}: {text[:300]}\n")
    return counts


def main() -> int:
    """The command; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--minor", type=int, action="append", choices=MINORS)
    arguments = parser.parse_args()
    minors = tuple(arguments.minor or reversed(MINORS))
    start, used = time.perf_counter(), time.process_time()
    agree = differ = 0
    for path in arguments.files:
        for minor, (good, bad) in compare(path, minors).items():
            sys.stdout.write(f"{path.name} 1.{minor}: {good} agree, {bad} differ\n")
            agree, differ = agree + good, differ + bad
    passed, used = time.perf_counter() - start, time.process_time() - used
    sys.stdout.write(f"{passed:.1f} s, {used:.1f} s of processor time\n")
    sys.stdout.write(f"{agree} agree, {differ} differ\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

"""Differential fuzz: ``python -m tests.upstream.allocatorfuzz ORACLE [--seed N] [--count N]``.

ORACLE is the program that answers scenarios with Kubernetes' allocator. What differs is printed
and, with ``--keep``, written to a file of scenarios and one of answers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.allocator import RulesError
from pytest_dra.allocator.rules import LATEST
from pytest_dra.allocator.search import PATIENCE
from tests.upstream import allocatordraw
from tests.upstream import allocatormutants
from tests.upstream import allocatorpuzzles
from tests.upstream.allocator import difference
from tests.upstream.allocator import node_answers
from tests.upstream.allocator import release
from tests.upstream.scenario import Json
from tests.upstream.scenario import answer
from tests.upstream.scenario import rules_for

BATCH: Final = 500
TIMEOUT: Final = 1200.0
NEW_FIELDS: Final = frozenset({
    "compatibilityGroups", "skipNodeOperations", "derivedAttributes", "declaredFeatures",
})  # fmt: skip
"""Fields that 1.37 has brought."""

DRAWN: Final[dict[str, Callable[[int], Json]]] = {
    "clusters": allocatordraw.scenario,
    "puzzles": allocatorpuzzles.scenario,
    "mutants": allocatormutants.scenario,
}
"""How scenarios are drawn: with all features, many alike and hardly solvable, or what was written
by hand with changes."""


def ask(oracle: str, scenarios: list[Json], limit: str) -> list[Json]:
    """The oracle's answers."""
    done = subprocess.run(  # the oracle is named by the developer
        [oracle, "--no-time", "--lenient", "--timeout", limit],
        input="\n".join(json.dumps(one) for one in scenarios) + "\n",
        capture_output=True, text=True, timeout=TIMEOUT, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def older(scenario: Json, minor: int) -> Json:
    """A scenario for an older oracle: without newer fields, and without what is random there."""
    made: Json = _without(scenario)
    if minor <= 34:
        # That oracle cannot be told which copy to use.
        made.pop("variant", None)
    try:
        current = rules_for(made, minor=minor)
    except RulesError:
        return made
    if current.per_slice:
        # That release breaks down with this gate.
        made["features"] = {**made.get("features", {}), "DRAConsumableCapacity": False}
    slices = made["resourceSlices"]
    if not current.sorts and slices:
        pools = {_pool(one) for one in slices}
        kept = min(pools) if len(pools) > 1 else None
        made["resourceSlices"] = [one for one in slices if kept in (None, _pool(one))]
    return made


def _pool(one: Json) -> tuple[str, str]:
    return one["spec"]["driver"], one["spec"]["pool"]["name"]


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(one) for key, one in value.items() if key not in NEW_FIELDS}
    return [_without(one) for one in value] if isinstance(value, list) else value


def timed_out(want: Json) -> bool:
    """True if the oracle has not got to its answer."""
    return any(one.get("class") == "timeout" for one in node_answers(want))


def verdicts(want: Json) -> list[str]:
    """Kinds of the answers for nodes, to be counted."""
    return [
        one.get("class") or ("nofit" if one.get("nofit") else "fits") for one in node_answers(want)
    ]


class Tally:
    """What has been compared, and what differs."""

    def __init__(self, patience: int, show: int) -> None:
        self.patience = patience
        self.show = show
        self.counts: Counter[str] = Counter()
        self.kept: list[tuple[Json, Json]] = []

    def add(self, scenario: Json, want: Json) -> None:
        """Compare the oracle's answer with ours."""
        for trouble in ("panic", "decode"):
            if str(want.get("setupError", "")).startswith(trouble):
                self.counts[trouble] += 1
                return
        if timed_out(want):
            self.counts["timeout"] += 1
            return
        self.counts.update(f"nodes {one}" for one in verdicts(want))
        self.counts[want.get("variant") or "no variant"] += 1
        got = answer(scenario, patience=self.patience, minor=release(want))
        text = difference(want, got)
        self.counts["differ" if text else "agree"] += 1
        if text:
            self.kept.append((scenario, want))
            if len(self.kept) <= self.show:
                sys.stdout.write(f"{scenario['id']}: {text}\n")

    def keep(self, stem: Path) -> None:
        """Write what differs to files."""
        for suffix, place in (("scenarios", 0), ("goldens", 1)):
            lines = [json.dumps(pair[place]) for pair in self.kept]
            stem.with_name(f"{stem.name}-{suffix}.jsonl").write_text("\n".join(lines) + "\n")


def main() -> int:
    """The command; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("oracle")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--draw", choices=DRAWN, default="clusters")
    parser.add_argument("--limit", default="5s", help="time of the oracle for each node")
    parser.add_argument("--keep", type=Path, help="stem of files for what differs")
    parser.add_argument("--patience", type=int, default=PATIENCE)
    parser.add_argument("--minor", type=int, default=LATEST, help="release of the oracle")
    parser.add_argument("--show", type=int, default=5)
    arguments = parser.parse_args()
    tally = Tally(arguments.patience, arguments.show)
    start = time.monotonic()
    for first in range(arguments.seed, arguments.seed + arguments.count, BATCH):
        last = min(first + BATCH, arguments.seed + arguments.count)
        batch = [DRAWN[arguments.draw](seed) for seed in range(first, last)]
        if arguments.minor < LATEST:
            batch = [older(one, arguments.minor) for one in batch]
        answers = ask(arguments.oracle, batch, arguments.limit)
        for scenario, want in zip(batch, answers, strict=True):
            tally.add(scenario, want)
    if arguments.keep and tally.kept:
        tally.keep(arguments.keep)
    counts = tally.counts
    sys.stdout.write(f"{dict(sorted(counts.items()))} in {time.monotonic() - start:.0f} s\n")
    sys.stdout.write(f"{counts['agree']} agree, {counts['differ']} differ\n")
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())

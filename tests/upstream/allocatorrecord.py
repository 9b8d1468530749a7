"""Store scenarios with the oracle's answers: ``python -m tests.upstream.allocatorrecord ORACLE``.

Draws scenarios as the fuzz does and keeps so many of each verdict, in two files that
``tests.upstream.allocator`` reads. The tests replay them without the oracle.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from tests.upstream.allocatorfuzz import DRAWN
from tests.upstream.allocatorfuzz import ask
from tests.upstream.allocatorfuzz import older
from tests.upstream.allocatorfuzz import verdicts
from tests.upstream.scenario import Json

HERE: Final = Path(__file__).parent
SCENARIOS: Final = HERE / "allocator-scenarios.jsonl"
GOLDENS: Final = HERE / "allocator-goldens.jsonl"

WANTED: Final = {
    "clusters": {"fits": 110, "nofit": 60, "node": 20, "fatal": 40},
    "puzzles": {"fits": 45, "nofit": 45, "fatal": 8},
}
"""How many are kept of each way of drawing and kind of answer."""

WANTED_OLDER: Final = {"fits": 24, "nofit": 12, "node": 3, "fatal": 8}
"""The same for each older release, of clusters."""

DRAWS: Final = 4000
SEED: Final = 500_000
TEXT_MAX: Final = 4500
"""Characters of a scenario that is worth keeping."""


def stored(want: Json) -> Json:
    """An answer without what does not count."""
    made: Json = {
        key: want[key] for key in ("id", "kubernetes", "variant", "setupError") if key in want
    }
    if "pods" in want:
        made["pods"] = [
            {**pod, "nodes": [_node(one) for one in pod.get("nodes") or ()]} for pod in want["pods"]
        ]
    else:
        made["nodes"] = [_node(one) for one in want.get("nodes") or ()]
    return made


def _node(answer: Json) -> Json:
    return {key: one for key, one in answer.items() if key not in ("error", "steps")}


Line = tuple[str, str]
"""A scenario and its answer, as they are stored."""


def recorded(
    scenarios: list[Json], program: str, wanted: dict[str, int], prefix: str = ""
) -> list[Line]:
    """So many scenarios of each kind of answer."""
    kept: Counter[str] = Counter()
    lines: list[Line] = []
    for scenario, want in zip(scenarios, ask(program, scenarios, "5s"), strict=True):
        kinds = set(verdicts(want)) & set(wanted)
        kind = min(kinds, key=list(wanted).index) if kinds else ""
        named = {**scenario, "id": prefix + scenario["id"]}
        text = json.dumps(named, separators=(",", ":"))
        if not kind or kept[kind] >= wanted[kind] or len(text) > TEXT_MAX:
            continue
        kept[kind] += 1
        answer = {**stored(want), "id": named["id"]}
        lines.append((text, json.dumps(answer, separators=(",", ":"))))
    sys.stdout.write(f"{prefix}{dict(kept)}\n")
    return lines


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("oracle")
    parser.add_argument("--older", action="append", default=[], metavar="MINOR=PROGRAM")
    arguments = parser.parse_args()
    lines: list[Line] = []
    for how, wanted in WANTED.items():
        scenarios = [DRAWN[how](seed) for seed in range(SEED, SEED + DRAWS)]
        lines += recorded(scenarios, arguments.oracle, wanted)
    for pair in arguments.older:
        minor, _, program = pair.partition("=")
        scenarios = [
            older(DRAWN["clusters"](seed), int(minor)) for seed in range(SEED, SEED + DRAWS // 4)
        ]
        lines += recorded(scenarios, program, WANTED_OLDER, f"1.{minor}-")
    SCENARIOS.write_text("".join(f"{one}\n" for one, _ in lines))
    GOLDENS.write_text("".join(f"{one}\n" for _, one in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())

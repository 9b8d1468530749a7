"""Ask the oracles for the answers.

    python -m tests.upstream.crossed.record ORACLE 36=ORACLE-OF-1.36 ...

Scenarios go to the older releases, too, as far as they mean anything there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from pytest_dra.allocator.rules import LATEST
from tests.upstream.allocatorfuzz import ask
from tests.upstream.allocatorfuzz import older
from tests.upstream.allocatorrecord import stored
from tests.upstream.crossed import SCENARIOS
from tests.upstream.scenario import Json

GOLDENS: Final = Path(__file__).with_name("goldens.jsonl")

LIMIT: Final = "30s"
"""Time of the oracle for each node."""

_OWN: Final = "panic: reflect"
"""Begin of the errors of the oracle itself: it cannot count the steps of the oldest copies."""


def scenarios(minor: int) -> list[Json]:
    """The scenarios as a release is asked for them."""
    named = [{"profile": "default", **one, "id": f"1.{minor}-{one['id']}"} for one in SCENARIOS]
    return named if minor >= LATEST else [older(one, minor) for one in named]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("oracle")
    parser.add_argument("older", nargs="*", metavar="MINOR=PROGRAM")
    arguments = parser.parse_args()
    programs = {LATEST: arguments.oracle}
    for pair in arguments.older:
        minor, _, program = pair.partition("=")
        programs[int(minor)] = program
    lines = []
    for minor, program in programs.items():
        for want in ask(program, scenarios(minor), LIMIT):
            if str(want.get("setupError") or "").startswith(_OWN):
                continue
            lines.append(json.dumps(stored(want), separators=(",", ":")))
    GOLDENS.write_text("".join(f"{one}\n" for one in lines))
    sys.stdout.write(f"{len(lines)} answers\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

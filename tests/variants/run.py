"""The whole suite on each legal variant of the fake driver: all of it must be green.

``python -m tests.variants.run [VARIANT...]``; as many runs at a time as the machine has room for.
Exits 1 if a case is neither passed nor not-applicable.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from pytest_dra.fake_driver.variants import all_variants
from tests.sweep.pool import Pool
from tests.variants.varied import SETTINGS
from tests.variants.varied import job
from tests.variants.varied import not_green
from tests.variants.varied import states_of

LONG = ("V26-60", "V26", "V22")
"""Variants that let the suite wait for long: first, so that none is left alone at the end."""


def sweep(chosen: list[str], root: Path) -> int:
    """Run these variants, and print a line each; how many are not green."""
    wrong = 0
    for ended in Pool(
        job(each, root / each) for each in sorted(chosen, key=lambda name: name not in LONG)
    ):
        try:
            states = states_of(ended)
        except RuntimeError as error:
            states = {"": str(error)}
        problems = not_green(states)
        wrong += bool(problems)
        plain = Counter(state.partition(":")[0] for state in states.values())
        counts = ", ".join(f"{n} {state}" for state, n in plain.most_common())
        told = ", ".join(f"{id} {state}" for id, state in problems.items()) or "green"
        sys.stdout.write(f"{ended.job.name:15} {ended.seconds:5.1f} s  {told} ({counts})\n")
        sys.stdout.flush()
    return wrong


def main(arguments: list[str]) -> int:
    """Run all variants or those named; prints one line each and a closing line."""
    chosen = arguments or [*all_variants(), *SETTINGS]
    with tempfile.TemporaryDirectory(prefix="dra-variants-") as scratch:
        wrong = sweep(chosen, Path(scratch))
    sys.stdout.write(f"{len(chosen) - wrong} passed, {wrong} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The whole suite on each legal variant of the fake driver: all of it must be green.

``python -m tests.variants.run [VARIANT...]``; three runs at a time. Exits 1 if a case is neither
passed nor not-applicable.
"""

from __future__ import annotations

import concurrent.futures
import os
import sys
import time
from collections import Counter

from pytest_dra.fake_driver.variants import all_variants
from tests.faults.faulty import BENCHES
from tests.variants.varied import SETTINGS
from tests.variants.varied import judge
from tests.variants.varied import not_green

PARALLEL = 3
"""Runs at a time: a run mostly waits."""


def main(arguments: list[str]) -> int:
    """Run all variants or those named; prints one line each and a closing line."""
    os.environ.setdefault(*BENCHES)
    chosen = arguments or [*all_variants(), *SETTINGS]
    wrong = 0

    def one(variant: str) -> tuple[str, dict[str, str], str, float]:
        began = time.monotonic()
        states = judge(variant)
        plain = Counter(state.partition(":")[0] for state in states.values())
        counts = ", ".join(f"{n} {state}" for state, n in plain.most_common())
        return variant, not_green(states), counts, time.monotonic() - began

    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        for variant, problems, counts, took in pool.map(one, chosen):
            wrong += bool(problems)
            told = ", ".join(f"{id} {state}" for id, state in problems.items()) or "green"
            sys.stdout.write(f"{variant:15} {took:5.1f} s  {told} ({counts})\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - wrong} passed, {wrong} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

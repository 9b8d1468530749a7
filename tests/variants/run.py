"""The whole suite on each legal variant of the fake driver: all of it must be green.

``python -m tests.variants.run [--few] [VARIANT...]``; as many runs at a time as the machine has
room for. Exits 1 if a case is neither passed nor not-applicable.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pytest_dra.fake_driver.variants import all_variants
from tests.sweep.pool import AGAIN
from tests.sweep.pool import Ended
from tests.sweep.pool import Pool
from tests.variants.varied import SETTINGS
from tests.variants.varied import job
from tests.variants.varied import not_green
from tests.variants.varied import states_of

LONG = ("V26-60", "V26", "V22")
"""Variants that let the suite wait for long: first, so that none is left alone at the end."""

FEW = ("V03", "V04-NRI", "V06-BATCH", "V14", "V29-NETWORK", "features")
"""Variants that differ most from the plain driver, and from each other: those that `.ci/run` has
time for. None of them makes the suite wait for minutes."""


def found_on(variant: str, ended: Ended) -> Mapping[str, str]:
    """The state of each case; of an empty id, why there is none."""
    try:
        return states_of(variant, ended)
    except RuntimeError as error:
        return {"": str(error)}


def sweep(chosen: list[str], root: Path) -> int:
    """Run these variants, and print a line each; how many are not green."""
    wrong = 0
    in_order = sorted(chosen, key=lambda name: name not in LONG)
    pool = Pool(job(each, root / each) for each in in_order)
    for ended in pool:
        variant = ended.job.subject
        states = found_on(variant, ended)
        problems = not_green(states)
        told = ", ".join(f"{id} {state}" for id, state in problems.items()) or "green"
        if problems and ended.job.is_first:
            # Many runs at a time on few cores: whether it was the load is told, and not hidden.
            sys.stdout.write(f"{variant} at the first try: {told}\n")
            pool.add(job(variant, root / f"{variant}{AGAIN}", name=f"{variant}{AGAIN}"))
            continue
        wrong += bool(problems)
        plain = Counter(state.partition(":")[0] for state in states.values())
        counts = ", ".join(f"{n} {state}" for state, n in plain.most_common())
        sys.stdout.write(f"{variant:15} {ended.seconds:5.1f} s  {told} ({counts})\n")
        sys.stdout.flush()
    return wrong


def main(arguments: list[str]) -> int:
    """Run all variants, a few, or those named; prints one line each and a closing line."""
    parser = argparse.ArgumentParser(prog="tests.variants.run")
    parser.add_argument("--few", action="store_true", help="those that differ most")
    parser.add_argument("variant", nargs="*", help="these only")
    options = parser.parse_args(arguments)
    every = list(dict.fromkeys([*all_variants(), *SETTINGS]))
    chosen = options.variant or (list(FEW) if options.few else every)
    with tempfile.TemporaryDirectory(prefix="dra-variants-") as scratch:
        wrong = sweep(chosen, Path(scratch))
    sys.stdout.write(f"{len(chosen) - wrong} passed, {wrong} failed\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

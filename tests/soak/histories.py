"""Random histories: ``python -m tests.soak.histories [--examples N] [--seed N] [--driver DRIVER]``.

Prints the smallest history that fails, as a file for ``--dra-replay``; exits 1 then.
"""

from __future__ import annotations

import argparse
import sys

from pytest_dra.checks import histories
from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.session import Session
from tests.soak.machine import search

EXAMPLES = 100
SEED = 1


def main(arguments: list[str]) -> int:
    """Search, and tell what was found."""
    parser = argparse.ArgumentParser(prog="tests.soak.histories")
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--driver", default="fake", help="as --dra-driver of pytest")
    options = parser.parse_args(arguments)
    settings = resolve(flag={"dra_driver": options.driver}.get, ini=lambda _: None, environ={})
    with Session(plan_of(settings)[1]) as session:
        found = search(session.bench, examples=options.examples, seed=options.seed)
    if found is None:
        sys.stdout.write(f"seed {options.seed}: {options.examples} histories, none fails\n")
        return 0
    sys.stdout.write(f"# {found.where}: got {found.got}, want {found.want}\n")
    sys.stdout.write(histories.as_file(found.history))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

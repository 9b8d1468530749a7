"""SIGKILL at random moments: ``python -m tests.soak.kills [--count N] [--seed N]``.

The fake driver runs on the bench. Again and again some claims are prepared or unprepared at the
same time, the driver is killed before, in or behind these calls, or in its own start, and started
again. Then everything that it had answered must still be true: prepared claims are, with the same
ids and the CDI files that these name, released ones have left nothing, and the slices are as
before. What was not answered is asked again, as a kubelet does. The closing line has the numbers;
exits 1 if anything was lost.

The seed decides what is done and when the kill comes; the driver's own threads decide the rest.
"""

from __future__ import annotations

import argparse
import sys

from pytest_dra.options import resolve
from pytest_dra.planning import plan_of
from pytest_dra.session import Session
from tests.soak.killing import kills

COUNT = 200
SEED = 1


def main(arguments: list[str]) -> int:
    """Kill, and print the losses and a closing line."""
    parser = argparse.ArgumentParser(prog="tests.soak.kills")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--driver", default="fake", help="as --dra-driver of pytest")
    options = parser.parse_args(arguments)
    settings = resolve(flag={"dra_driver": options.driver}.get, ini=lambda _: None, environ={})
    with Session(plan_of(settings)[1]) as session:
        killing = kills(
            session.bench,
            count=options.count,
            seed=options.seed,
            report=lambda loss: sys.stdout.write(f"{loss}\n"),
        )
    moments = ", ".join(f"{number} {name}" for name, number in sorted(killing.moments.items()))
    sys.stdout.write(
        f"seed {options.seed}: {options.count} kills ({moments}), {len(killing.losses)} losses\n"
    )
    return 1 if killing.losses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

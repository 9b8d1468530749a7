"""The figures of a run, taken from its benches before they end."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_dra.bench import Bench
from pytest_dra.bench import idling
from pytest_dra.report.figures import NONE
from pytest_dra.report.figures import Figures
from pytest_dra.report.figures import measured

NODE_PREFIX = "node-"
"""What stands before an instance's name in that of its node."""


def figures_of(benches: Iterable[Bench]) -> Figures:
    """The figures of all benches together."""
    found = NONE
    for bench in benches:
        users = {user: node.removeprefix(NODE_PREFIX) for user, node in bench.places.items()}
        idle = idling.idle(bench)
        found += measured(bench.timeline.all(), users)
        found += Figures(idle_s=idle.seconds, idle_writes=len(idle.writes))
    return found

"""A run on a bad driver that is ended in its middle, however roughly: nothing is left."""

from __future__ import annotations

import signal

import pytest

from tests.drivers.judging import good
from tests.drivers.judging import interrupt
from tests.drivers.judging import module

CASES = "REG-001,PREP-023,UNP-004,RST-001,RST-005,RST-010"
"""Enough to be in the middle of something."""

PROCESSES = "tests.drivers.bad.processes"
PLACES = "tests.drivers.bad.places"
TWICE = (signal.SIGINT, signal.SIGINT)


@pytest.mark.parametrize(
    ("driver", "numbers"),
    [
        (module(PROCESSES, "children"), TWICE),
        (module(PROCESSES, "hides"), (signal.SIGKILL,)),
        (module(PLACES, "swaps"), (signal.SIGKILL,)),
        (module(PLACES, "removes"), (signal.SIGTERM,)),
        (module("tests.drivers.bad.floods", "connections"), (signal.SIGTERM,)),
    ],
    ids=["children-int-int", "hides-kill", "swaps-kill", "removes-term", "connections-term"],
)
def test_nothing_is_left_of_a_run_that_is_ended_in_its_middle(
    driver: str, numbers: tuple[signal.Signals, ...]
) -> None:
    code, left = interrupt(driver, CASES, numbers)
    assert left == ()
    # The second Ctrl-C may meet pytest while it reports the first one: Python ends as it can.
    assert code in ((1, 2, -signal.SIGINT) if numbers == TWICE else (-numbers[0],))


def test_workers_end_themselves_where_their_controller_is_killed() -> None:
    code, left = interrupt(good(), CASES, (signal.SIGKILL,), options=("-n", "2"))
    assert left == ()
    assert code == -signal.SIGKILL

from __future__ import annotations

import pytest

from pytest_dra.embedded.flow import LONGEST_S
from pytest_dra.embedded.flow import Flow

BURST = 10
PER_S = 5.0


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def flow(clock: Clock) -> Flow:
    return Flow(lambda identity: identity != "suite", burst=BURST, per_s=PER_S, now=clock)


def test_a_burst_is_served_at_once_and_what_follows_waits_its_turn(flow: Flow) -> None:
    assert [flow.delay_s("driver") for _ in range(BURST)] == [0.0] * BURST
    assert [flow.delay_s("driver") for _ in range(3)] == pytest.approx([0.2, 0.4, 0.6])


def test_time_gives_requests_back_up_to_a_burst(flow: Flow, clock: Clock) -> None:
    for _ in range(BURST):
        flow.delay_s("driver")
    clock.time += 0.4
    assert flow.delay_s("driver") == flow.delay_s("driver") == 0.0
    assert flow.delay_s("driver") > 0.0
    clock.time += 1000.0
    assert [flow.delay_s("driver") for _ in range(BURST)] == [0.0] * BURST
    assert flow.delay_s("driver") > 0.0


def test_no_request_waits_longer_than_the_longest(flow: Flow, clock: Clock) -> None:
    for _ in range(1000):
        assert flow.delay_s("driver") <= LONGEST_S
    clock.time += LONGEST_S + 1.0
    assert flow.delay_s("driver") == 0.0


def test_each_identity_is_counted_for_itself_and_the_suite_is_not(flow: Flow) -> None:
    for _ in range(2 * BURST):
        flow.delay_s("driver")
    assert flow.delay_s("another") == 0.0
    assert {flow.delay_s("suite") for _ in range(2 * BURST)} == {0.0}

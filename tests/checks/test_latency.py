"""Judgements of how long calls took."""

from __future__ import annotations

from pytest_dra.checks import latency
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import Entry
from tests.checks.raising import Said
from tests.checks.raising import said


def call(serial: int, duration_s: float, code: str = "OK") -> Entry[DraCall]:
    """A Prepare of one claim."""
    event = DraCall(
        instance="a",
        driver="d",
        service="v1.DRAPlugin",
        method="NodePrepareResources",
        claims=({"namespace": "ns", "uid": "u", "name": f"c{serial}"},),
        response=None,
        code=code,
        details="",
        duration_s=duration_s,
    )
    return Entry(serial, 0.0, False, event)


def test_calls_within_the_budget_are_let_pass() -> None:
    calls = [call(1, 0.1), call(2, 40.0)]
    assert said(lambda: latency.calls_must_be_short(calls, within_s=40.0, budget="prepare")) is None


def test_no_call_is_no_long_call() -> None:
    assert said(lambda: latency.calls_must_be_short([], within_s=1.0, budget="prepare")) is None


def test_the_longest_call_is_told_with_its_claims_and_the_budget() -> None:
    calls = [call(1, 41.0), call(2, 45.02, "DEADLINE_EXCEEDED"), call(3, 0.1)]
    assert said(
        lambda: latency.calls_must_be_short(calls, within_s=40.0, budget="prepare")
    ) == Said(
        "NodePrepareResources of ns/c2, the longest of 3 calls",
        "DEADLINE_EXCEEDED after 45.0 s",
        "an answer within 40 s (budgets.prepare); a kubelet waits 45 s",
        (2,),
    )


def test_a_slow_call_within_the_budget_is_a_warning() -> None:
    calls = [call(1, 0.1), call(2, 12.3), call(3, 11.0)]
    assert latency.slow(calls, above_s=latency.SLOW_S) == (
        "NodePrepareResources of ns/c2, the longest of 3 calls, took 12 s; "
        "want less than 10 s: the pod waits meanwhile"
    )


def test_quick_calls_and_no_calls_are_no_warning() -> None:
    assert latency.slow([call(1, 0.1), call(2, 10.0)], above_s=latency.SLOW_S) == ""
    assert latency.slow([], above_s=latency.SLOW_S) == ""

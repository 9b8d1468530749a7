"""Judgements of growth, of percentiles and of devices that come and go."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

import pytest

from pytest_dra.checks import growth
from pytest_dra.checks import latency
from pytest_dra.checks import plugging
from pytest_dra.checks.growth import Usage
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import Entry
from tests.checks.raising import Judgement
from tests.checks.raising import Said
from tests.checks.raising import said


def _usage(values: Sequence[int], *, memory: Sequence[int] = ()) -> list[Usage]:
    kept = memory or [1000] * len(values)
    return [
        Usage(cycles=25 + 15 * n, descriptors=value, threads=4, files=9, memory=kept[n])
        for n, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(_usage([20] * 6), id="the same"),
        pytest.param(_usage([20, 21, 20, 19, 20, 20]), id="up and down"),
        pytest.param(_usage([20, 21, 21, 21, 21, 21]), id="one more for good"),
        pytest.param(
            _usage([20] * 6, memory=[1000, 1200, 1400, 1500, 1500, 1500]), id="a little memory"
        ),
    ],
)
def test_what_does_not_grow_steadily_is_let_pass(seen: Sequence[Usage]) -> None:
    assert said(lambda: growth.must_not_grow(seen)) is None


def test_what_grows_is_told_by_cycle() -> None:
    leaking = _usage([20, 35, 50, 65, 80, 95])
    assert said(lambda: growth.must_not_grow(leaking)) == Said(
        "cycles 25 to 100 of Prepare and Unprepare",
        "1.00 file descriptors more per cycle (20, then 95)",
        "at most 0.02 per cycle: nothing that grows",
    )
    swelling = _usage([20] * 3, memory=[1000, 1450, 1900])
    assert said(lambda: growth.must_not_grow(swelling)) == Said(
        "cycles 25 to 55 of Prepare and Unprepare",
        "30.00 KiB of memory more per cycle (1000, then 1900)",
        "at most 20 per cycle: nothing that grows",
    )


def test_memory_alone_is_told_from_the_rest() -> None:
    """A heap may be given more time than descriptors."""
    assert growth.growing(_usage([20] * 3)) == ""
    assert growth.growing(_usage([20] * 3, memory=[1000, 1450, 1900])) == growth.MEMORY
    both = _usage([20, 35, 50], memory=[1000, 1450, 1900])
    assert growth.growing(both) == "descriptors"


def _calls(*durations: float) -> list[Entry[DraCall]]:
    return [
        Entry(
            serial,
            float(serial),
            False,
            DraCall(
                instance="a",
                driver="d",
                service="v1.DRAPlugin",
                method="NodePrepareResources",
                claims=({"namespace": "ns", "uid": "u", "name": "c"},),
                response={},
                code="OK",
                details="",
                duration_s=duration,
            ),
        )
        for serial, duration in enumerate(durations)
    ]


def test_one_slow_call_of_more_than_a_hundred_is_let_pass() -> None:
    calls = _calls(*[0.01] * 100, 3.0)
    assert said(lambda: latency.percentile_must_be_within(calls, within_s=1.0)) is None


def test_a_percentile_beyond_the_budget_is_told_with_the_median() -> None:
    calls = _calls(*[0.01] * 48, 3.0, 2.0)
    assert said(lambda: latency.percentile_must_be_within(calls, within_s=1.0)) == Said(
        "NodePrepareResources, 50 calls",
        "p99 3.00 s, p50 0.01 s",
        "p99 within 1 s (budgets.latency_p99): pods wait for it",
        (48,),
    )


A, B = ("pool", "gpu-0"), ("pool", "gpu-1")


def _stay(after: Mapping[plugging.Pair, str]) -> Judgement:
    before = {A: "one", B: "two"}
    return lambda: plugging.names_must_stay(before, after, during="removing a device")


def test_names_that_stay_with_their_devices_are_let_pass() -> None:
    assert said(_stay({B: "two"})) is None
    assert said(_stay({A: "hotter", B: "two"})) is None
    twins = {A: "same", B: "same"}
    moved = {A: "same"}
    assert said(lambda: plugging.names_must_stay(twins, moved, during="x")) is None


def test_a_name_that_another_device_has_got_is_told() -> None:
    assert said(_stay({A: "two"})) == Said(
        "device gpu-0 of pool pool after removing a device",
        "the attributes that device gpu-1 had",
        "the same device under the same name",
    )


def test_a_device_that_neither_goes_nor_comes_back_is_told() -> None:
    assert said(lambda: plugging.one_must_be_gone({A}, within_s=60.0)) is None
    assert said(lambda: plugging.one_must_be_gone((), within_s=60.0)) == Said(
        "slices after hooks.hotplug.remove",
        "all devices still there 60 s later",
        "the removed device gone or tainted",
    )
    assert said(lambda: plugging.all_must_be_back((), within_s=60.0)) is None
    assert said(lambda: plugging.all_must_be_back({A}, within_s=60.0)) == Said(
        "slices after hooks.hotplug.add",
        "no device gpu-0 in pool pool 60 s later",
        "the added device back under its name",
    )

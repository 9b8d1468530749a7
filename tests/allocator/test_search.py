"""The search never blows up, and cuts do not change its answer."""

from __future__ import annotations

import pytest

from tests.allocator.objects import DRIVER
from tests.allocator.objects import NODE
from tests.allocator.objects import Json
from tests.allocator.objects import attempt
from tests.allocator.objects import claim
from tests.allocator.objects import counted
from tests.allocator.objects import device
from tests.allocator.objects import picked
from tests.allocator.objects import pool
from tests.allocator.objects import request
from tests.allocator.objects import takes

FEW = 600
"""Steps that a puzzle may take where the plain search takes millions."""


def test_more_devices_than_there_are_is_seen_without_a_search() -> None:
    slices = [pool("p", [device(f"d{i}", {"index": i}) for i in range(31)])]
    answer = attempt(slices, claim(request("r", 32))).on(NODE)
    assert (answer.verdict, answer.steps) == ("nofit", 0)


def test_requests_together_want_more_than_there_is() -> None:
    slices = [pool("p", [device(f"d{i}", {"index": i}) for i in range(15)])]
    answer = attempt(slices, claim(*(request(f"r{i}", 4) for i in range(4)))).on(NODE)
    assert answer.verdict == "nofit"
    assert answer.steps < FEW


@pytest.mark.parametrize(("per", "groups"), [(2, 2), (2, 3), (3, 2), (4, 2), (8, 4)])
def test_groups_that_are_one_device_short_are_seen_at_once(per: int, groups: int) -> None:
    devices = [
        device(f"d{group}-{i}", {"group": group, "index": i})
        for group in range(groups)
        for i in range(4 * per - 1)
    ]
    same = [{"matchAttribute": f"{DRIVER}/group"}]
    wanted = claim(*(request(f"r{i}", per) for i in range(4)), constraints=same)
    answer = attempt([pool("p", devices)], wanted).on(NODE)
    assert answer.verdict == "nofit"
    assert answer.steps < FEW


@pytest.mark.parametrize("count", [16, 20, 24, 48])
def test_counters_that_are_one_device_short_are_seen_at_once(count: int) -> None:
    devices = [device(f"d{i}", {"index": i}, consumesCounters=takes("2")) for i in range(count)]
    answer = attempt(counted(devices, str(count - 1)), claim(request("r", count // 2))).on(NODE)
    assert answer.verdict == "nofit"
    assert answer.steps < FEW


def test_a_large_partition_behind_many_small_ones_is_seen_at_once() -> None:
    devices = [device(f"d{i}", consumesCounters=takes("1")) for i in range(20)]
    devices.append(device("large", consumesCounters=takes("12")))
    answer = attempt(counted(devices, "8"), claim(request("r", 9))).on(NODE)
    assert answer.verdict == "nofit"
    assert answer.steps < FEW


def test_different_values_that_are_too_few_are_seen_at_once() -> None:
    devices = [device(f"d{i}", {"numa": i % 3, "index": i}) for i in range(24)]
    different = [{"distinctAttribute": f"{DRIVER}/numa"}]
    wanted = claim(*(request(f"r{i}") for i in range(4)), constraints=different)
    answer = attempt([pool("p", devices)], wanted).on(NODE)
    assert answer.verdict == "nofit"
    assert answer.steps < FEW


def test_a_claim_that_fits_nowhere_is_not_tried_with_all_choices_for_the_first_one() -> None:
    devices = [device(f"d{i}", {"numa": i % 2, "index": i}) for i in range(24)]
    different = [{"distinctAttribute": f"{DRIVER}/numa"}]
    first = claim(request("a", 6), request("b", 6), name="first")
    second = claim(*(request(f"r{i}") for i in range(3)), name="second", constraints=different)
    answer = attempt([pool("p", devices)], first, second).on(NODE)
    assert answer.verdict == "nofit"
    assert answer.steps < FEW


def test_alternatives_are_not_multiplied_where_the_last_request_cannot_fit() -> None:
    def choice(name: str) -> Json:
        subs = [{"name": f"s{i}", **request("", 1)["exactly"]} for i in range(8)]
        return {"name": name, "firstAvailable": subs}

    slices = [pool("p", [device(f"d{i}", {"index": i}) for i in range(12)])]
    wanted = claim(*(choice(f"r{i}") for i in range(8)), request("last", 5))
    answer = attempt(slices, wanted).on(NODE)
    assert answer.verdict == "nofit"
    assert answer.steps < FEW


def test_the_first_solution_is_the_same_with_and_without_cuts() -> None:
    devices = [device(f"d{i}", {"group": i % 3, "kind": i % 2}) for i in range(12)]
    same = [{"matchAttribute": f"{DRIVER}/group"}]
    of_kind = f'device.attributes["{DRIVER}"].kind == 1'
    wanted = claim(request("a", 2), request("b", 2, of_kind), constraints=same)
    slices = [pool("p", devices)]
    plain = attempt(slices, wanted, patience=10**9).on(NODE)
    cut = attempt(slices, wanted, patience=0).on(NODE)
    assert picked(plain.results) == picked(cut.results) == ["d0", "d6", "d3", "d9"]


def test_a_search_that_takes_too_long_has_an_outcome_of_its_own_and_it_is_always_the_same() -> None:
    devices = [device(f"d{i}", {"group": i % 3, "kind": i % 2}) for i in range(12)]
    same = [{"matchAttribute": f"{DRIVER}/group"}]
    wanted = claim(request("a", 2), request("b", 2), constraints=same)
    for _ in range(2):
        answer = attempt([pool("p", devices)], wanted, budget=3).on(NODE)
        assert answer.verdict == "budget"
        assert "3 steps" in answer.error


def test_an_error_behind_the_first_solution_is_not_seen_and_one_before_it_is() -> None:
    good, bad = device("a", {"numa": 0}), device("b")
    wanted = claim(request("r", 1, f'device.attributes["{DRIVER}"].numa == 0'))
    assert attempt([pool("p", [good, bad])], wanted).on(NODE).verdict == "fits"
    answer = attempt([pool("p", [bad, good])], wanted).on(NODE)
    assert answer.verdict == "fatal"
    assert "no such key" in answer.error


def test_many_devices_over_many_claims_need_no_recursion() -> None:
    slices = [pool(f"p{i:02}", [device(f"d{j}") for j in range(32)]) for i in range(40)]
    same = [{"matchAttribute": f"{DRIVER}/none", "requests": ["other"]}]
    claims = [claim(request("r", 32), name=f"c{i}", constraints=same) for i in range(40)]
    answer = attempt(slices, *claims).on(NODE)
    assert answer.verdict == "fits"
    assert len(picked(answer.results)) == 40 * 32

"""Gates select the copy of the allocator; parts that are asked for alone."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.allocator import RulesError
from pytest_dra.allocator import rules
from pytest_dra.allocator import unavailable
from pytest_dra.allocator import with_rules
from pytest_dra.allocator.assignment import assigns
from pytest_dra.allocator.nodes import SelectorError
from pytest_dra.allocator.nodes import selects
from pytest_dra.allocator.rules import AROUND
from pytest_dra.allocator.rules import GATES
from pytest_dra.allocator.rules import INCUBATING
from pytest_dra.allocator.rules import LATEST
from pytest_dra.allocator.rules import rules_with
from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.versions import kubernetes_version
from tests.allocator.objects import device
from tests.allocator.objects import pool


@pytest.mark.parametrize(
    ("version", "features", "variant"),
    [
        ("1.37", {}, "incubating"),
        ("1.36", {}, "incubating"),
        ("1.34", {}, "incubating"),
        ("1.37", {"DRAListTypeAttributes": True}, "experimental"),
        ("1.37", {"DRADeviceBindingConditions": False}, "incubating"),
        ("1.37", {"DRADeviceBindingConditions": False, "DRAConsumableCapacity": False}, "stable"),
    ],
)
def test_the_first_copy_that_supports_the_gates_is_used(
    version: str, features: dict[str, bool], variant: str
) -> None:
    assert rules(version, features).variant == variant


def test_the_gates_of_a_scheduler_are_those_of_its_release() -> None:
    # On by default only where the minimum compatibility version is 1.37, too: then it is turned.
    assert not rules("1.37").fractional
    assert rules("1.37", {"DRAFractionalCapacityRange": True}).fractional
    for name in VERSIONS:
        version = kubernetes_version(name)
        found = rules(name)
        assert found.minor == version.minor
        for gate, field in {**GATES, **AROUND}.items():
            assert getattr(found, field) is version.enabled(gate), (name, gate)


def test_a_gate_means_nothing_without_those_it_builds_on() -> None:
    assert not rules("1.36", {"DRAResourceClaimDeviceStatus": False}).binding
    both = {"DRAFractionalCapacityRange": True, "DRAConsumableCapacity": False}
    assert not rules("1.37", both).fractional


def test_a_release_that_is_newer_than_the_last_known_one_is_like_it() -> None:
    assert rules_with(INCUBATING, minor=LATEST + 1).sorts


@pytest.mark.parametrize(
    ("version", "features", "variant", "names"),
    [
        ("1.12", {}, None, "'1.12': want one of 1.34"),
        ("1.37", {"DRAMagic": True}, None, "no feature gate DRAMagic"),
        ("1.36", {"DRADerivedAttributes": True}, None, "no feature gate DRADerivedAttributes"),
        ("1.37", {"DRADerivedAttributes": True}, "stable", "stable does not support"),
        ("1.37", {}, "best", "no variant 'best'"),
    ],
)
def test_settings_that_no_scheduler_runs_with_are_named(
    version: str, features: dict[str, bool], variant: str | None, names: str
) -> None:
    with pytest.raises(RulesError, match=names):
        rules(version, features, variant=variant)


def test_gates_that_stand_alone_have_to_be_known() -> None:
    with pytest.raises(RulesError, match="no feature gate DRAMagic"):
        rules_with(["DRAMagic"])
    with pytest.raises(RulesError, match=r"no release 1\.33"):
        rules_with([], minor=33)


def node(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "labels": labels}}


def selector(key: str, operator: str, *values: str) -> dict[str, Any]:
    one = {"key": key, "operator": operator, "values": list(values)}
    return {"nodeSelectorTerms": [{"matchExpressions": [one]}]}


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", ["1", "2"], True), ("NotIn", ["1"], False), ("Exists", [], True),
        ("DoesNotExist", [], False), ("Gt", ["0"], True), ("Lt", ["1"], False),
    ],
)  # fmt: skip
def test_operators_of_node_selectors(operator: str, values: list[str], fits: bool) -> None:  # noqa: FBT001 - a parameter
    assert selects(selector("size", operator, *values), node(size="1")) is fits


@pytest.mark.parametrize(
    ("key", "operator", "values"),
    [("a b", "Exists", []), ("a", "In", []), ("a", "Gt", ["x"]), ("a", "Like", ["x"])],
)
def test_selectors_that_do_not_parse_are_errors(key: str, operator: str, values: list[str]) -> None:
    with pytest.raises(SelectorError):
        selects(selector(key, operator, *values), node())


def test_an_empty_term_selects_nothing_and_fields_know_the_name() -> None:
    assert not selects({"nodeSelectorTerms": [{}]}, node())
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert selects({"nodeSelectorTerms": [{"matchFields": [field]}]}, node())


def test_claims_whose_allocation_is_for_other_nodes_are_named() -> None:
    allocation = {"nodeSelector": selector("zone", "In", "a")}
    held = {"metadata": {"name": "c"}, "status": {"allocation": allocation}}
    assert unavailable(node(zone="b"), [held]) == ["c"]
    assert unavailable(node(zone="a"), [held]) == []


def test_taints_of_rules_come_behind_the_devices_own() -> None:
    own = {"key": "own", "effect": "NoSchedule"}
    slices = [pool("p", [device("a", taints=[own]), device("b")]), pool("q", [device("a")])]
    taint = {"key": "k", "effect": "NoExecute"}
    selects_one = {"spec": {"deviceSelector": {"pool": "p", "device": "a"}, "taint": taint}}
    made = with_rules(slices, [selects_one])
    assert [one.get("taints") for one in made[0]["spec"]["devices"]] == [[own, taint], None]
    assert made[1] is slices[1]
    everywhere = with_rules(slices, [{"spec": {"taint": taint}}])
    assert everywhere[1]["spec"]["devices"][0]["taints"] == [taint]


@pytest.mark.parametrize(
    ("slots", "works"),
    [
        ([(0b11, 1), (0b01, 1)], True), ([(0b01, 1), (0b01, 1)], False), ([(0b111, 3)], True),
        ([(0b0111, 2), (0b0011, 1), (0b0001, 1)], False),
        ([(0b0111, 1), (0b0011, 1), (0b0001, 1)], True), ([(0, 1)], False), ([(0, 0)], True),
    ],
)  # fmt: skip
def test_slots_that_share_members_are_told_apart(
    slots: list[tuple[int, int]],
    works: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert assigns(slots) is works

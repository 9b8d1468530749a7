"""Rules of attributes, counters, taints and selectors: the edges of what they accept."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.cel.environments import environment
from pytest_dra.checks import attributes
from pytest_dra.checks import counters
from pytest_dra.checks import selecting
from pytest_dra.checks import taints
from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.flaws import must_be_none
from pytest_dra.checks.refusals import case_of
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from tests.objects.sample import DRIVER
from tests.objects.sample import device
from tests.objects.sample import resource_slice


def slices(*attributes_of: Json) -> list[Json]:
    devices = [device(f"d{n}", attributes=found) for n, found in enumerate(attributes_of)]
    return [resource_slice(devices=devices)]


def test_the_first_flaw_becomes_a_violation() -> None:
    must_be_none([])
    flaws = [Flaw(item={}, field="", where=text, got=1, want="2") for text in ("one", "other")]
    with pytest.raises(Violation, match="one"):
        must_be_none(flaws)


def test_a_bare_name_is_that_of_the_drivers_own_domain() -> None:
    same = slices({"a": {"int": 1}}, {f"{DRIVER}/a": {"int": 2}})
    assert not list(attributes.types_must_agree(same, lists_are_one=True))
    assert not list(attributes.kinds_must_be_alike(same, kind_attribute=""))
    other = slices({"a": {"int": 1}}, {"other.com/a": {"string": "x"}})
    assert not list(attributes.types_must_agree(other, lists_are_one=True))


@pytest.mark.parametrize(("one", "count"), [(True, 0), (False, 1)])
def test_a_list_may_count_as_its_scalar(*, one: bool, count: int) -> None:
    found = slices({"a": {"int": 1}}, {"a": {"ints": [1]}})
    assert len(list(attributes.types_must_agree(found, lists_are_one=one))) == count


def test_kinds_are_told_apart_by_the_attribute_or_by_capacities() -> None:
    found = slices({"type": {"string": "gpu"}, "a": {"int": 1}}, {"type": {"string": "nic"}})
    assert len(list(attributes.kinds_must_be_alike(found, kind_attribute=""))) == 1
    assert not list(attributes.kinds_must_be_alike(found, kind_attribute="type"))
    found[0]["spec"]["devices"][1]["capacity"] = {}
    assert not list(attributes.kinds_must_be_alike(found, kind_attribute=""))


@pytest.mark.parametrize(
    ("name", "value", "minor", "right"),
    [
        ("pcieRoot", {"string": "pci0000:16"}, 37, True),
        ("pcieRoot", {"strings": ["pci0000:16", "pci0000:17"]}, 37, True),
        ("pcieRoot", {"strings": []}, 37, False),
        ("pcieRoot", {"int": 1}, 37, False),
        ("pciBusID", {"string": "0000:16:00.0"}, 34, True),
        ("pciBusID", {"string": "0000:16:00.8"}, 34, False),
        ("numaNode", {"int": 0}, 37, True),
        ("numaNode", {"ints": [0, 1]}, 37, True),
        ("numaNode", {"int": -1}, 37, False),
        ("numaNode", {"int": 0}, 36, False),
        ("other", {"int": 0}, 37, False),
    ],
)
def test_standard_attributes_have_their_formats(
    name: str, value: Json, minor: int, *, right: bool
) -> None:
    found = slices({f"resource.kubernetes.io/{name}": value})
    assert (not list(attributes.standard_must_be_kept(found, minor=minor))) is right


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("1", True),
        (5, True),
        ("1.50Gi", True),
        ("1e3", True),
        ("0.000000001", True),
        ("0.0000000001", False),
        ("1.5n", False),
        ("0.1000000000000", True),
        ("-0", True),
        ("-1m", False),
        ("nonsense", True),
        (None, True),
        ([], True),
        (True, True),
    ],
)
def test_quantities_keep_their_value(value: Any, *, right: bool) -> None:
    found = [resource_slice(devices=[device("a", capacity={"m": {"value": value}})])]
    assert (not list(attributes.quantities_must_be_plain(found))) is right


def test_domains_of_taints_are_the_drivers_or_the_vendors() -> None:
    def flaws(key: str, *domains: str) -> list[Flaw]:
        found = [resource_slice(devices=[device("a", taints=[{"key": key, "effect": "None"}])])]
        return list(taints.keys_must_have_a_domain(found, domains=domains))

    assert not flaws(f"{DRIVER}/bad")
    assert not flaws("vendor.com/bad")
    assert not flaws("vendor.com/bad", "vendor.com")
    assert flaws("vendor.com/bad", "other.com")
    assert flaws("bad")
    assert flaws("k8s.io/bad")
    assert flaws("node.kubernetes.io/bad")


def test_counters_of_another_pool_do_not_exist() -> None:
    holder = resource_slice(sharedCounters=[{"name": "c", "counters": {"m": {"value": "8"}}}])
    uses = [{"counterSet": "c", "counters": {"m": {"value": "8"}}}]
    user = resource_slice(devices=[device("a", consumesCounters=uses)])
    together = {("d", "p"): [holder, user]}
    assert not list(counters.consumed_must_exist(together))
    assert not list(counters.consumed_must_fit(together))
    assert len(list(counters.consumed_must_exist({("d", "p"): [holder], ("d", "q"): [user]}))) == 1


@pytest.mark.parametrize(
    "value",
    [
        {"string": 'it\'s "quoted" \\ ünï\u2028'},
        {"string": ""},
        {"int": -(2**63)},
        {"bool": False},
        {"version": "1.2.3-rc.1+b5"},
    ],
)
def test_any_legal_value_can_be_selected(value: Json) -> None:
    found = slices({"a": value}, {"a": value}, {"a": {next(iter(value)): _other(value)}})
    assert not list(selecting.values_must_be_selectable(found, environment(37, stored=True)))


def _other(value: Json) -> object:
    return {"string": "x", "int": 5, "bool": True, "version": "9.0.0"}[next(iter(value))]


def test_versions_and_quantities_that_are_equal_are_one_value() -> None:
    found = slices({"v": {"version": "1.0.0+a"}}, {"v": {"version": "1.0.0+b"}})
    found[0]["spec"]["devices"][0]["capacity"] = {"m": {"value": "1Gi"}}
    found[0]["spec"]["devices"][1]["capacity"] = {"m": {"value": "1073741824"}}
    assert not list(selecting.values_must_be_selectable(found, environment(37, stored=True)))


def test_a_name_that_is_there_twice_is_told_once() -> None:
    found = slices({"v": {"int": 1}, f"{DRIVER}/v": {"int": 2}})
    assert len(list(selecting.values_must_be_selectable(found, environment(37, stored=True)))) == 1


def test_refusals_of_v1beta1_belong_to_the_same_cases() -> None:
    for middle in ("", ".basic"):
        field = f"spec.devices[0]{middle}.taints[0].key"
        assert case_of(field, "Invalid value") == "TAINT-001"
    assert case_of("metadata.name", "x") == "SLICE-027"

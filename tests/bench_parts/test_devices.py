"""Which devices a claim can be given, judged from the published slices as a scheduler would."""

from __future__ import annotations

import pytest

from pytest_dra.bench.devices import Device
from pytest_dra.bench.devices import devices_of
from pytest_dra.bench.devices import is_published
from pytest_dra.bench.devices import newest_generation
from pytest_dra.spec import Json

DRIVER = "gpu.example.com"
NODE = "node-a"


def published(
    *devices: str | Json,
    pool: str = "pool-a",
    generation: object = 1,
    count: object = 1,
    driver: str = DRIVER,
    **spec: object,
) -> Json:
    """A slice of this node with these devices."""
    return {
        "spec": {
            "driver": driver,
            "nodeName": NODE,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": [{"name": each} if isinstance(each, str) else each for each in devices],
            **spec,
        }
    }


def found(*slices: Json) -> list[tuple[str, str]]:
    """(pool, device) of what can be given away."""
    return [(device.pool, device.name) for device in devices_of(slices, driver=DRIVER, node=NODE)]


def test_devices_of_all_slices_of_a_pool_come_by_pool_and_name() -> None:
    assert found(
        published("b", "a", pool="z", count=2),
        published("c", pool="z", count=2),
        published("d", pool="m"),
    ) == [("m", "d"), ("z", "a"), ("z", "b"), ("z", "c")]


def test_only_the_newest_generation_counts() -> None:
    assert found(
        published("old-0", "old-1", generation=1, count=2),
        published("new-0", generation=10, count=1),
        published("old-2", generation=2, count=1),
    ) == [("pool-a", "new-0")]


@pytest.mark.parametrize(
    "slices",
    [
        pytest.param([published("a", count=2)], id="a slice is missing"),
        pytest.param([published("a"), published("b")], id="one slice too many"),
        pytest.param([published("a", count=2), published("b", count=1)], id="the slices disagree"),
        pytest.param([published("a", count=None)], id="no count"),
        pytest.param(
            [published("a", count=2), published("b", "a", count=2)], id="a device name twice"
        ),
        pytest.param(
            [published("a", generation=1), published(generation=2, count=2)],
            id="an old generation that was complete does not count",
        ),
    ],
)
def test_nothing_can_be_had_from_a_pool_that_a_scheduler_would_not_use(slices: list[Json]) -> None:
    assert found(*slices) == []
    assert found(*slices, published("other", pool="whole")) == [("whole", "other")]


@pytest.mark.parametrize(
    ("slices", "whole"),
    [
        pytest.param([], False, id="nothing"),
        pytest.param([published()], False, id="a slice without devices"),
        pytest.param([published("a"), published(pool="empty")], True, id="one empty pool of two"),
        pytest.param([published("a", count=2)], False, id="a slice is yet to come"),
        pytest.param(
            [published("a"), published("b", pool="other", count=2)],
            True,
            id="a further pool is not waited for",
        ),
        pytest.param(
            [published("a", generation=1, count=5), published("b", generation=2)],
            True,
            id="what is left of an old generation does not matter",
        ),
    ],
)
def test_something_is_published_when_a_pool_has_all_the_slices_that_it_says(
    *, slices: list[Json], whole: bool
) -> None:
    assert is_published(slices) is whole


def test_slices_of_other_nodes_and_drivers_are_left_out() -> None:
    assert found(
        published("mine", pool="p", count=2),
        published("theirs", pool="p", count=2, nodeName="node-b"),
        published("foreign", pool="q", driver="npu.example.com"),
    ) == [("p", "mine")]


@pytest.mark.parametrize("name", [None, ""])
def test_a_slice_that_names_no_node_can_be_used(name: str | None) -> None:
    assert found(published("a", nodeName=name, allNodes=True)) == [("pool-a", "a")]


def test_plain_devices_come_first() -> None:
    shared: Json = {"name": "a-shared", "allowMultipleAllocations": True}
    tainted: Json = {"name": "b-tainted", "taints": [{"key": "k", "effect": "NoSchedule"}]}
    devices = devices_of([published(tainted, shared, "z")], driver=DRIVER, node=NODE)
    assert [(each.name, each.plain) for each in devices] == [
        ("z", True),
        ("a-shared", False),
        ("b-tainted", False),
    ]


@pytest.mark.parametrize(
    ("spec", "plain"),
    [
        ({}, True),
        ({"attributes": {"a": {"int": 1}}, "capacity": {"m": {"value": "1"}}}, True),
        ({"allowMultipleAllocations": False, "taints": []}, True),
        ({"allowMultipleAllocations": True}, False),
        ({"consumesCounters": [{"counterSet": "s"}]}, False),
        ({"taints": [{"key": "k"}]}, False),
        ({"bindingConditions": ["ready"]}, False),
    ],
)
def test_a_device_is_plain_if_an_allocation_needs_nothing_but_its_name(
    *, spec: Json, plain: bool
) -> None:
    assert Device(pool="p", name="d", spec=spec).plain is plain


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ({"type": {"string": "gpu"}}, "gpu"),
        ({"type": {"int": 4}}, 4),
        ({"type": {"bool": False}}, False),
        ({"type": {}}, None),
        ({"type": None}, None),
        ({"other": {"string": "gpu"}}, None),
        (None, None),
    ],
)
def test_the_value_of_an_attribute_is_found_whatever_its_type(
    attributes: Json | None, value: object
) -> None:
    assert Device(pool="p", name="d", spec={"attributes": attributes}).attribute("type") == value


def test_generations_are_told_apart_by_driver_and_pool() -> None:
    a, b = published(pool="p", generation=1), published(pool="p", generation=2, driver="x")
    c, d = published(pool="q", generation=0), published(pool="q", generation=None)
    assert newest_generation([a, b, c, d]) == {
        (DRIVER, "p"): [a],
        ("x", "p"): [b],
        (DRIVER, "q"): [c, d],
    }
    assert newest_generation([{}, {"spec": None}]) == {("", ""): [{}, {"spec": None}]}

"""Small checks of partitions, taints, shared capacity and conditions, in what was sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import Rig
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks_attributes import devices
from tests.fake_driver.small_checks_attributes import sent

EFFECTS = frozenset({"NoSchedule", "NoExecute", "None"})


def _sets(rig: Rig) -> dict[str, dict[str, Any]]:
    found = [each for spec in sent(rig) for each in spec.get("sharedCounters") or []]
    return {each["name"]: each["counters"] for each in found}


def _consumed(rig: Rig) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for device in devices(rig):
        for entry in device.get("consumesCounters") or []:
            yield device, entry


def _taints(rig: Rig) -> Iterator[dict[str, Any]]:
    for device in devices(rig):
        yield from device.get("taints") or []


def _gibibytes(value: dict[str, Any]) -> int:
    return int(value["value"].removesuffix("Gi"))


@check("PART-001")
def _(rig: Rig) -> None:
    assert all("devices" not in spec for spec in sent(rig) if "sharedCounters" in spec)


@check("PART-002")
def _(rig: Rig) -> None:
    assert {entry["counterSet"] for _, entry in _consumed(rig)} <= set(_sets(rig))


@check("PART-003")
def _(rig: Rig) -> None:
    assert all(len(device.get("consumesCounters") or []) <= 2 for device in devices(rig))


@check("PART-004")
def _(rig: Rig) -> None:
    for _, entry in _consumed(rig):
        there = _sets(rig).get(entry["counterSet"], {})
        for name, value in entry["counters"].items():
            assert name not in there or _gibibytes(value) <= _gibibytes(there[name])


@check("PART-005")
def _(rig: Rig) -> None:
    assert all(entry["counterSet"] != "parts" for _, entry in _consumed(rig))


@check("PART-006")
def _(rig: Rig) -> None:
    pools: dict[str, list[Any]] = {}
    for item in rig.store.of(DRIVER):
        pools.setdefault(item["spec"]["pool"]["name"], []).append(item["spec"])
    for members in pools.values():
        counts = {spec["pool"]["resourceSliceCount"] for spec in members}
        assert counts == {len(members)} or not any("sharedCounters" in spec for spec in members)


@check("PART-011")
def _(rig: Rig) -> None:
    for spec in sent(rig):
        name = spec.get("partitionTypeAttribute", "").rpartition("/")[2]
        for device in spec.get("devices") or []:
            assert not name or name in device["attributes"] or "consumesCounters" not in device


@check("PART-012")
def _(rig: Rig) -> None:
    assert all(len(entry.get("compatibilityGroups") or []) <= 2 for _, entry in _consumed(rig))


@check("TAINT-001")
def _(rig: Rig) -> None:
    assert all(taint["effect"] in EFFECTS for taint in _taints(rig))


@check("TAINT-002")
def _(rig: Rig) -> None:
    assert all("/" in taint["key"] for taint in _taints(rig))


@check("TAINT-007")
def _(rig: Rig) -> None:
    notes = [taint for taint in _taints(rig) if taint["key"].endswith("/notice")]
    assert all(taint["effect"] == "None" for taint in notes)


@check("CAP-001")
def _(rig: Rig) -> None:
    for device in devices(rig):
        for value in (device.get("capacity") or {}).values():
            policy = value.get("requestPolicy") or {}
            assert "validValues" not in policy or policy["default"] in policy["validValues"]


@check("BIND-001")
def _(rig: Rig) -> None:
    for device in devices(rig):
        assert ("bindingConditions" in device) == ("bindingFailureConditions" in device)


@check("LIFE-011")
def _(rig: Rig) -> None:
    for device in devices(rig):
        assert all("/" not in name for name in device.get("nodeAllocatableResources") or {})


@check("FEAT-001")
def _(rig: Rig) -> None:
    if rig.driver is None or rig.fault == "SLICE-021":
        return
    inventory = rig.driver.publisher.slices.inventory
    everywhere = {"driver": DRIVER, "allNodes": True, "pool": {"name": "a"}}
    with mock.patch.object(rig.parts.slices, "head", return_value=everywhere):
        assert rig.parts.slices(rig.options, inventory).wanted()

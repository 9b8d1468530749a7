"""What a modern driver has besides plain devices: ``--features`` adds a pool or service for each.

A feature whose gate is off loses its fields on the way; ``lists`` alone is refused then.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from typing import Final

HEALTH: Final = "health"
METADATA: Final = "metadata"

WEBHOOK: Final = "webhook"

UNPREPARED: Final = "unprepared"

SERVICES: Final = (HEALTH, METADATA, WEBHOOK)
"""Features that the driver has of itself, or ships, without a pool of their own."""

SLOTS: Final = 2
"""Partitions that can be made."""

PORTS: Final = 2
"""Network interfaces."""

ATTACHED: Final = 2
"""Devices that are attached when they are needed."""

HALVES: Final = 2
"""Parts of a partitionable device."""

Device = dict[str, Any]


def _device(name: str, kind: str, number: int = 0, **more: Any) -> Device:
    """A device as far as all of them are alike."""
    attributes = {
        "kind": {"string": kind},
        "model": {"string": f"fake-{kind}"},
        "index": {"int": number},
        "driverVersion": {"version": "1.4.2"},
        **more.pop("attributes", {}),
    }
    capacity = more.pop("capacity", {"memory": {"value": "16Gi"}})
    return {"name": name, "attributes": attributes, "capacity": capacity, **more}


def _taints(driver: str) -> dict[str, Any]:
    effects = ("NoSchedule", "NoExecute")
    return {
        "devices": tuple(
            _device(f"worn-{n}", "worn", n, taints=[{"key": f"{driver}/worn", "effect": effect}])
            for n, effect in enumerate(effects)
        )
    }


def _notices(driver: str) -> dict[str, Any]:
    taint = {"key": f"{driver}/notice", "value": "old-firmware", "effect": "None"}
    return {"devices": (_device("noted-0", "noted", taints=[taint]),)}


def _consumed(memory: str, **more: Any) -> list[dict[str, Any]]:
    return [{"counterSet": "large-0", "counters": {"memory": {"value": memory}}, **more}]


def _partitions(driver: str) -> dict[str, Any]:
    """A device and its halves: both halves, or the whole."""
    parent = {"parent": {"string": "whole-0"}}
    whole = _device("whole-0", "whole", attributes=parent, consumesCounters=_consumed("40Gi"))
    halves = tuple(
        _device(f"half-{n}", "half", n, attributes=parent, consumesCounters=_consumed("20Gi"))
        for n in range(HALVES)
    )
    return {"devices": (whole, *halves), "counters": _SETS}


def _types(driver: str) -> dict[str, Any]:
    found = _partitions(driver)
    for device in found["devices"]:
        kind = {"string": f"typed-{device['attributes']['kind']['string']}"}
        device["attributes"].update(kind=kind, profile=kind)
    return {**found, "fields": {"partitionTypeAttribute": f"{driver}/profile"}}


def _groups(driver: str) -> dict[str, Any]:
    """Devices of which two can be used together only where they have a group in common."""
    groups = (["even"], ["odd"], ["even", "odd"])
    return {
        "devices": tuple(
            _device(
                f"grouped-{n}",
                "grouped",
                n,
                consumesCounters=_consumed("10Gi", compatibilityGroups=names),
            )
            for n, names in enumerate(groups)
        ),
        "counters": _SETS,
    }


_SETS: Final = ({"name": "large-0", "counters": {"memory": {"value": "40Gi"}}},)


def _shares(driver: str) -> dict[str, Any]:
    """A device that any number of claims have a share of."""
    steps = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "16Gi", "step": "1Gi"}}
    values = {"default": "1", "validValues": ["1", "2", "4"]}
    capacity = {
        "memory": {"value": "16Gi", "requestPolicy": steps},
        "engines": {"value": "8", "requestPolicy": values},
    }
    shared = _device("shared-0", "shared", capacity=capacity, allowMultipleAllocations=True)
    return {"devices": (shared,)}


def _conditions(driver: str) -> dict[str, Any]:
    """Devices that are attached before they are bound."""
    attached = (
        _device(
            f"attached-{n}",
            "attached",
            n,
            bindsToNode=True,
            bindingConditions=[f"{driver}/attached", f"{driver}/configured"],
            bindingFailureConditions=[f"{driver}/failed"],
        )
        for n in range(ATTACHED)
    )
    return {"devices": tuple(attached)}


def _status(driver: str) -> dict[str, Any]:
    """Network interfaces, whose addresses stand in the status of their claims."""
    return {"devices": tuple(_device(f"port-{n}", "port", n) for n in range(PORTS))}


def _dynamic(driver: str) -> dict[str, Any]:
    """Partitions that are made when a claim needs them."""
    return {"devices": tuple(_device(f"slot-{n}", "slot", n) for n in range(SLOTS))}


def _lists(driver: str) -> dict[str, Any]:
    formats = {"formats": {"strings": ["fp16", "fp8"]}, "widths": {"ints": [8, 16]}}
    return {"devices": (_device("listed-0", "listed", attributes=formats),)}


def _standard(driver: str) -> dict[str, Any]:
    """Attributes that are the same for all drivers."""
    places = {
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:16"},
        "resource.kubernetes.io/pciBusID": {"string": "0000:17:00.0"},
    }
    return {"devices": (_device("placed-0", "placed", attributes=places),)}


def _allocatable(driver: str) -> dict[str, Any]:
    """A device that takes memory of the node along; the Node has to declare the feature."""
    mapping = {"capacityKey": "memory", "capacityMultiplier": "1"}
    found = {"memory": {"mapping": mapping}, "cpu": {"overhead": {"perPod": "100m"}}}
    return {"devices": (_device("hungry-0", "hungry", nodeAllocatableResources=found),)}


def _unprepared(driver: str) -> dict[str, Any]:
    """What every container has as it is, /dev/urandom: a claim for it is a matter of accounting."""
    return {"devices": (_device("entropy-0", "entropy"),), "fields": {"skipNodeOperations": ["*"]}}


FEATURES: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = MappingProxyType(
    {
        "taints": _taints,
        "notices": _notices,
        "partitions": _partitions,
        "shares": _shares,
        "conditions": _conditions,
        "standard": _standard,
        "status": _status,
        "dynamic": _dynamic,
        "types": _types,
        "groups": _groups,
        "lists": _lists,
        "allocatable": _allocatable,
        UNPREPARED: _unprepared,
    }
)
"""By name what makes the pool of a feature for a driver's name: its ``devices``, and where it has
them ``counters`` and further ``fields`` of its slices. ``notices`` needs Kubernetes 1.35; the last
five need feature gates that are off up to 1.37."""

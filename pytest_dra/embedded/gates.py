"""Dropping of fields whose feature gate is off.

They go silently and before validation, unless the stored object uses the feature already.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
from typing import Final

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import byhand
from pytest_dra.spec import Json

_LISTS: Final = frozenset(("ints", "bools", "strings", "versions"))

Users = Callable[[Json], Iterable[tuple[Json, str]]]
"""Finds every place of a feature in a spec, as (object, field name)."""


def _fields(obj: Json, *names: str) -> Iterable[tuple[Json, str]]:
    return [(obj, name) for name in names if name in obj]


def _devices(spec: Json) -> list[Json]:
    return spec.get("devices") or []


def _taints(spec: Json) -> Iterable[tuple[Json, str]]:
    return [place for device in _devices(spec) for place in _fields(device, "taints")]


def _partitions(spec: Json) -> Iterable[tuple[Json, str]]:
    places = list(_fields(spec, "sharedCounters", "perDeviceNodeSelection"))
    for device in _devices(spec):
        places += _fields(device, "consumesCounters", "nodeName", "nodeSelector", "allNodes")
    return places


def _bindings(spec: Json) -> Iterable[tuple[Json, str]]:
    names = ("bindsToNode", "bindingConditions", "bindingFailureConditions")
    return [place for device in _devices(spec) for place in _fields(device, *names)]


def _consumable(spec: Json) -> Iterable[tuple[Json, str]]:
    places: list[tuple[Json, str]] = []
    for device in _devices(spec):
        places += _fields(device, "allowMultipleAllocations")
        for value in (device.get("capacity") or {}).values():
            places += _fields(value, "requestPolicy")
    return places


def _list_attributes(spec: Json) -> Iterable[tuple[Json, str]]:
    return [
        place
        for device in _devices(spec)
        for value in (device.get("attributes") or {}).values()
        if not _LISTS.isdisjoint(value)
        for place in _fields(value, *_LISTS)
    ]


def _groups(spec: Json) -> Iterable[tuple[Json, str]]:
    return [
        place
        for device in _devices(spec)
        for entry in device.get("consumesCounters") or []
        for place in _fields(entry, "compatibilityGroups")
    ]


def _node_allocatable(spec: Json) -> Iterable[tuple[Json, str]]:
    name = "nodeAllocatableResources"
    return [place for device in _devices(spec) for place in _fields(device, name)]


_SLICE: Final[tuple[tuple[str, Users], ...]] = (
    ("DRADeviceTaints", _taints),
    ("DRAPartitionableDevices", _partitions),
    ("DRADeviceBindingConditions", _bindings),
    ("DRAConsumableCapacity", _consumable),
    ("DRAListTypeAttributes", _list_attributes),
    ("DRAPartitionableDevicesType", lambda spec: _fields(spec, "partitionTypeAttribute")),
    ("DRAOptionalNodeOperations", lambda spec: _fields(spec, "skipNodeOperations")),
    ("DRADeviceCompatibilityGroups", _groups),
    ("DRANodeAllocatableResources", _node_allocatable),
)


def _exact(spec: Json) -> list[Json]:
    """Every place of a claim spec that asks for devices: requests and subrequests."""
    found: list[Json] = []
    for request in spec["devices"].get("requests") or []:
        if request.get("exactly") is not None:
            found.append(request["exactly"])
        found += request.get("firstAvailable") or []
    return found


def _in_requests(*names: str) -> Users:
    return lambda spec: [place for part in _exact(spec) for place in _fields(part, *names)]


def _alternatives(spec: Json) -> Iterable[tuple[Json, str]]:
    return [
        place
        for request in spec["devices"].get("requests") or []
        for place in _fields(request, "firstAvailable")
    ]


def _distinct(spec: Json) -> Iterable[tuple[Json, str]]:
    constraints = spec["devices"].get("constraints") or []
    return [place for found in constraints for place in _fields(found, "distinctAttribute")]


_tolerations: Final = _in_requests("tolerations")

_KEPT_BY_134: Final[tuple[Users, ...]] = (_tolerations, _distinct)
"""What 1.34 forgets to drop."""


_CLAIM: Final[tuple[tuple[str, Users], ...]] = (
    ("DRAAdminAccess", _in_requests("adminAccess")),
    ("DRAPrioritizedList", _alternatives),
    ("DRADeviceTaints", _tolerations),
    ("DRAConsumableCapacity", _in_requests("capacity")),
    ("DRAConsumableCapacity", _distinct),
    ("DRADerivedAttributes", _in_requests("derivedAttributes")),
)


def _in_results(*names: str) -> Users:
    def find(status: Json) -> Iterable[tuple[Json, str]]:
        allocation = status.get("allocation") or {}
        results = (allocation.get("devices") or {}).get("results") or []
        return [place for result in results for place in _fields(result, *names)]

    return find


def _shares(status: Json) -> Iterable[tuple[Json, str]]:
    return [
        *_in_results("shareID", "consumedCapacity")(status),
        *[place for entry in status.get("devices") or [] for place in _fields(entry, "shareID")],
    ]


_STATUS: Final[tuple[tuple[str, Users], ...]] = (
    ("DRAAdminAccess", _in_results("adminAccess")),
    ("DRAResourceClaimDeviceStatus", lambda status: _fields(status, "devices")),
    (
        "DRADeviceBindingConditions",
        _in_results("bindingConditions", "bindingFailureConditions"),
    ),
    ("DRAConsumableCapacity", _shares),
    ("DRAOptionalNodeOperations", _in_results("skipNodeOperations")),
)


_STATUS_134: Final[tuple[tuple[str, Users], ...]] = (
    (
        "DRADeviceBindingConditions",
        lambda status: _fields(status.get("allocation") or {}, "allocationTimestamp"),
    ),
)
"""What only 1.34 drops."""


def _drop(
    new: Json, old: Json | None, version: KubernetesVersion, features: tuple[tuple[str, Users], ...]
) -> None:
    kept = _KEPT_BY_134 if version.minor < byhand.DECLARED_SINCE else ()
    for gate, users in features:
        if users in kept:
            continue
        if version.enabled(gate) or (old is not None and any(True for _ in users(old))):
            continue
        for place, name in users(new):
            del place[name]


def slice_gates(version: KubernetesVersion) -> list[str]:
    """The gates of a version without which fields of slices are dropped."""
    return [gate for gate, _ in _SLICE if gate in version.gates]


def drop_slice_fields(spec: Json, old: Json | None, version: KubernetesVersion) -> None:
    """Clean the spec of a slice."""
    _drop(spec, old, version, _SLICE)


def drop_claim_fields(spec: Json, old: Json | None, version: KubernetesVersion) -> None:
    """Clean the spec of a claim or of a template's claim."""
    _drop(spec, old, version, _CLAIM)


def drop_status_fields(status: Json, old: Json | None, version: KubernetesVersion) -> None:
    """Clean the status of a claim."""
    _drop(status, old, version, _STATUS)
    if version.minor < byhand.DECLARED_SINCE:
        _drop(status, old, version, _STATUS_134)


def drop_class_fields(spec: Json, old: Json | None, version: KubernetesVersion) -> None:
    """Clean the spec of a class."""
    names: Any = (("DRAExtendedResource", lambda found: _fields(found, "extendedResourceName")),)
    _drop(spec, old, version, names)

"""Devices that take resources of the node itself: mapped ones, and what they cost beside.

``nodeAllocatableResources`` of devices, gate DRANodeAllocatableResources, in the form of 1.37.
Source: kube-scheduler 1.37.2, plugin DynamicResources, read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.api.quantity import NANO
from pytest_dra.api.quantity import Quantity
from pytest_dra.scheduling import podresources
from pytest_dra.scheduling.cluster import DeviceKey
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.extended import containers
from pytest_dra.scheduling.podresources import HUGE
from pytest_dra.scheduling.podresources import STATUSES

Json = dict[str, Any]
Allocated = tuple[Json, Json]
"""A claim and its allocation."""

FIELD: Final = "nodeAllocatableResources"

_CHECKED: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources that are looked at once more with what devices take; and all pages of memory."""


class MappingError(ValueError):
    """The scheduler gives up on the pod for now: allocation and device do not go together."""


@dataclasses.dataclass(frozen=True, slots=True)
class Footprint:
    """``statuses`` for the status of the pod, and ``why`` it does not fit ("" if it does)."""

    statuses: tuple[Json, ...] = ()
    why: str = ""


class Devices:
    """Devices by their names, as the scheduler finds those of an allocation again."""

    def __init__(self, slices: Iterable[Json]) -> None:
        self._slices = list(slices)
        self.any = any(
            device.get(FIELD)
            for one in self._slices
            for device in (one.get("spec") or {}).get("devices") or ()
        )
        """False where no device takes anything, so that nothing has to be looked at."""
        self._by_node: dict[str, dict[DeviceKey, Json]] = {}
        self._all: dict[DeviceKey, Json] | None = None

    def on(self, node: Json) -> Mapping[DeviceKey, Json]:
        """The devices that a node can use; the first one of a name counts."""
        name = nodes.name_of(node)
        if name not in self._by_node:
            self._by_node[name] = dict(self._near(node))
        return self._by_node[name]

    def everywhere(self) -> Mapping[DeviceKey, Json]:
        """All devices."""
        if self._all is None:
            self._all = {}
            for one in self._slices:
                for key, device in _named(one):
                    self._all.setdefault(key, device)
        return self._all

    def _near(self, node: Json) -> Iterator[tuple[DeviceKey, Json]]:
        seen: set[DeviceKey] = set()
        for one in self._slices:
            spec = one.get("spec") or {}
            each = bool(spec.get("perDeviceNodeSelection"))
            if not each and not _reaches(spec, node):
                continue
            for key, device in _named(one):
                if key not in seen:
                    seen.add(key)
                    if not each or _reaches(device, node):
                        yield key, device


def _named(one: Json) -> Iterator[tuple[DeviceKey, Json]]:
    spec = one.get("spec") or {}
    pool = (spec.get("pool") or {}).get("name") or ""
    for device in spec.get("devices") or ():
        yield (spec.get("driver") or "", pool, device.get("name") or ""), device


def _reaches(place: Json, node: Json) -> bool:
    try:
        return nodes.matches(node, place)
    except nodes.SelectorError:
        return False


def is_mapped(allocation: Json, devices: Devices) -> bool:
    """True if a device of an allocation stands for resources of its node."""
    for result in results_of(allocation):
        device = devices.everywhere().get(device_of(result)) or {}
        if any((one or {}).get("mapping") for one in (device.get(FIELD) or {}).values()):
            return True
    return False


def footprint(
    pod: Json, node: Json, others: Iterable[Json], allocated: Sequence[Allocated],
    devices: Devices, entries: Mapping[str, str],
) -> Footprint:  # fmt: skip
    """What a pod takes of a node with its devices, and whether there is enough.

    ``others`` are the pods on the node; ``entries`` are names of claims by those of the entries
    of the pod that mean them.

    Raises:
        MappingError: the scheduler gives up.
    """
    near = devices.on(node)
    taking = [
        (claim, allocation)
        for claim, allocation in allocated
        if any((near.get(device_of(one)) or {}).get(FIELD) for one in results_of(allocation))
    ]
    if not taking:
        return Footprint()
    made = sorted(
        filter(None, (_status(pod, one, near, entries) for one in taking)),
        key=lambda one: str(one["resourceClaimName"]),
    )
    weighed = {**pod, "status": {**(pod.get("status") or {}), STATUSES: made}}
    why = _why_too_small(weighed) or _why_not(weighed, node, others)
    return Footprint(tuple(made), why)


def _status(
    pod: Json, taking: Allocated, near: Mapping[DeviceKey, Json], entries: Mapping[str, str]
) -> Json | None:
    claim, allocation = taking
    name = str((claim.get("metadata") or {}).get("name"))
    mapping: dict[str, Quantity] = {}
    overhead: dict[str, dict[str, Quantity]] = {}
    for result in results_of(allocation):
        device = near.get(device_of(result))
        if device is None:
            raise MappingError(f"claim {name}: device {'/'.join(device_of(result))} is not there")
        for resource, one in (device.get(FIELD) or {}).items():
            amount = _mapped((one or {}).get("mapping") or {}, result, f"claim {name}, {resource}")
            if amount is not None:
                mapping[resource] = _sum(mapping.get(resource), amount)
            for kind, value in ((one or {}).get("overhead") or {}).items():
                kinds = overhead.setdefault(resource, {})
                kinds[kind] = _sum(kinds.get(kind), Quantity.parse(value))
    if not mapping and not overhead:
        return None
    made: Json = {"resourceClaimName": name}
    users = _users(pod, name, entries)
    if users:
        made["containers"] = users
    if mapping:
        made["mapping"] = [{"name": one, "quantity": str(mapping[one])} for one in sorted(mapping)]
    if overhead:
        made["overhead"] = [
            {"name": one, **{kind: str(value) for kind, value in overhead[one].items()}}
            for one in sorted(overhead)
        ]
    return made


def _mapped(mapping: Json, result: Json, where: str) -> Quantity | None:
    """How much of a resource one device stands for."""
    key = mapping.get("capacityKey")
    if key:
        consumed = result.get("consumedCapacity")
        if consumed is None:
            raise MappingError(f"{where}: no capacity is consumed, but {key} counts")
        if key not in consumed:
            return None
        return _times(Quantity.parse(consumed[key]), mapping.get("capacityMultiplier"))
    if mapping.get("deviceMultiplier") is not None:
        return Quantity.parse(mapping["deviceMultiplier"])
    return None


def _times(amount: Quantity, factor: Any) -> Quantity:
    if factor is None or Quantity.parse(factor).nanos == NANO:
        return amount
    product = amount.nanos * Quantity.parse(factor).nanos
    return Quantity.parse(f"{-(-product // NANO)}n")


def _sum(known: Quantity | None, more: Quantity) -> Quantity:
    return more if known is None else known.plus(more)


def _users(pod: Json, claim: str, entries: Mapping[str, str]) -> list[str]:
    return [
        str(container.get("name"))
        for container in containers(pod)
        for one in (container.get("resources") or {}).get("claims") or ()
        if entries.get(str(one.get("name"))) == claim
    ]


def _why_not(pod: Json, node: Json, others: Iterable[Json]) -> str:
    for name in podresources.lacking(pod, node, others, with_devices=True):
        if name in _CHECKED or name.startswith(HUGE):
            return f"too little {name} with what devices take of it"
    return ""


def _why_too_small(pod: Json) -> str:
    """Why what a pod has as a whole does not cover what its devices take."""
    whole = podresources.pod_level(pod, "requests")
    asked = podresources.of_containers(pod, with_devices=True)
    for name in sorted(whole):
        if asked.get(name, 0) > whole[name]:
            return f"the pod's own request for {name} does not cover containers and devices"
    bounds = podresources.pod_level(pod, "limits")
    for name, amount in sorted(podresources.limits_of_containers(pod).items()):
        if name.startswith(HUGE) and amount > bounds.get(name, amount):
            return f"the pod's own limit for {name} does not cover containers and devices"
    for container in (pod.get("spec") or {}).get("containers") or ():
        taken = podresources.of_devices(pod, str(container.get("name")))
        for name, amount in podresources.limits_of(container).items():
            total = amount + taken.get(name, 0)
            if not name.startswith(HUGE) and total > bounds.get(name, total):
                return (
                    f"the pod's own limit for {name} does not cover the devices of container "
                    f"{container.get('name')}"
                )
    return ""

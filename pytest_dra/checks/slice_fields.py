"""Fields of ResourceSlices as the driver sent them: owners, limits, node choices, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Final

from pytest_dra.api.versions import Limits
from pytest_dra.checks.slices import named
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry

DEVICE_CHOICES: Final = ("nodeName", "nodeSelector", "allNodes")
"""The node choices of one device (resource.k8s.io/v1 Device)."""

LISTS: Final = frozenset({"ints", "bools", "strings", "versions"})
"""Kinds of list-valued attributes."""

PREPARE_OPERATION: Final = "NodePrepareResources"
UNPREPARE_OPERATIONS: Final = frozenset({"NodeUnprepareResources", "*"})

REFUSED_CODE: Final = 422
"""HTTP status of an object that is against the API's rules."""

IMMUTABLE_FIELDS: Final = frozenset({"spec.driver", "spec.nodeName", "spec.pool.name"})

_IMMUTABLE = "immutable"
"""What the API server's message about such a field says."""

_OF_OTHER_CASES = re.compile(
    r"spec\.devices(\[\d+\](\.(name|nodeName|nodeSelector|allNodes|attributes|capacity|taints"
    r"|consumesCounters|bindsToNode|bindingConditions|bindingFailureConditions"
    r"|nodeAllocatableResources)\b.*)?)?"
    r"|spec\.(pool\.name|sharedCounters.*|skipNodeOperations.*|partitionTypeAttribute.*)"
    r"|spec|spec\.(nodeSelector\.nodeSelectorTerms|allNodes|perDeviceNodeSelection)"
)
"""Fields whose refusals SLICE-002, 007, 008, 009, 023, 024, 025 and the cases of attributes,
taints, partitions, capacities, conditions and node resources judge."""


def owners_must_be_nodes(slices: Iterable[Json], *, uids: dict[str, str]) -> None:
    """Each slice of a node is owned by the Node object.

    Args:
        slices: as published.
        uids: of the Nodes, by name.
    """
    for item in slices:
        node = (item.get("spec") or {}).get("nodeName")
        if node not in uids:
            continue
        wanted = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uids[node]}
        owners = (item.get("metadata") or {}).get("ownerReferences") or []
        if not any({**owner, **wanted} == owner and owner.get("controller") for owner in owners):
            shown = [{key: owner.get(key) for key in (*wanted, "controller")} for owner in owners]
            raise Violation(
                f"metadata.ownerReferences of {named(item)}",
                got=shown,
                want=f"the Node: {wanted | {'controller': True}}",
            )


def limits_must_be_kept(bodies: Iterable[Json], *, limits: Limits, kubernetes: str) -> None:
    """No slice as sent has more devices than this version of Kubernetes takes."""
    for body in bodies:
        devices = (body.get("spec") or {}).get("devices") or []
        limit, why = _limit(devices, limits)
        if len(devices) > limit:
            raise Violation(
                f"spec.devices of {named(body)}",
                got=f"{len(devices)} devices",
                want=f"at most {limit}{why} (Kubernetes {kubernetes})",
            )


def _limit(devices: Sequence[Json], limits: Limits) -> tuple[int, str]:
    if limits.devices_special is None:
        return limits.devices, ""
    for device in devices:
        for field in ("taints", "consumesCounters"):
            if device.get(field):
                return limits.devices_special, f", since {device.get('name')!r} has {field}"
        values = (device.get("attributes") or {}).values()
        if limits.lists_are_special and any(
            not LISTS.isdisjoint(value) for value in values if isinstance(value, dict)
        ):
            return limits.devices_special, f", since {device.get('name')!r} has a list attribute"
    return limits.devices, ""


def all_must_be_published(slices: Sequence[Json], *, wanted: int, within_s: float) -> None:
    """All devices that the driver was started with are in its slices."""
    found = sum(len((item.get("spec") or {}).get("devices") or []) for item in slices)
    if found < wanted:
        raise Violation(
            f"start with {wanted} devices",
            got=f"{found} devices in {len(slices)} slices",
            want=f"at least {wanted} devices within {within_s:g} s",
        )


def chooses_per_device(bodies: Iterable[Json]) -> bool:
    """True if a slice or a device makes use of node selection by device."""
    return any(
        (body.get("spec") or {}).get("perDeviceNodeSelection")
        or any(field in device for field in DEVICE_CHOICES)
        for body in bodies
        for device in (body.get("spec") or {}).get("devices") or [{}]
    )


def devices_must_choose_nodes(bodies: Iterable[Json]) -> None:
    """With perDeviceNodeSelection each device has exactly one node choice, without it none."""
    for body in bodies:
        spec = body.get("spec") or {}
        per_device = spec.get("perDeviceNodeSelection") is True
        for device in spec.get("devices") or []:
            chosen = [field for field in DEVICE_CHOICES if device.get(field) is not None]
            empty = [field for field in chosen if device[field] in ("", False)]
            where = f"device {device.get('name', '')!r} of {named(body)}"
            if per_device and (len(chosen) != 1 or empty):
                raise Violation(
                    where,
                    got={field: device[field] for field in chosen},
                    want=f"exactly one of {', '.join(DEVICE_CHOICES)}, not empty or false",
                )
            if chosen and not per_device:
                raise Violation(
                    where,
                    got={field: device[field] for field in chosen},
                    want="no node choice, since the slice does not set perDeviceNodeSelection",
                )


def skips_operations(bodies: Iterable[Json]) -> bool:
    """True if a slice says that node operations are to be skipped."""
    return any((body.get("spec") or {}).get("skipNodeOperations") for body in bodies)


def skipped_operations_must_be_legal(bodies: Iterable[Json]) -> None:
    """skipNodeOperations has no duplicates, and Prepare only together with Unprepare."""
    for body in bodies:
        found = (body.get("spec") or {}).get("skipNodeOperations") or []
        where = f"spec.skipNodeOperations of {named(body)}"
        if len(set(found)) < len(found):
            raise Violation(where, got=found, want="no value twice")
        if PREPARE_OPERATION in found and UNPREPARE_OPERATIONS.isdisjoint(found):
            raise Violation(
                where, got=found, want=f"{PREPARE_OPERATION} only with NodeUnprepareResources or *"
            )


def causes_of(event: ApiRequest) -> list[tuple[str, str]]:
    """(field, message) of a refusal by validation; empty for any other answer."""
    if event.code != REFUSED_CODE:
        return []
    details = (event.answer or {}).get("details") or {}
    found = [
        (str(cause.get("field", "")), str(cause.get("message", "")))
        for cause in details.get("causes") or []
    ]
    return found or [("", str((event.answer or {}).get("message", "")))]


def writes_must_be_valid(writes: Iterable[Entry[ApiRequest]]) -> None:
    """No slice write was refused by validation, but for what other cases judge."""
    for entry in writes:
        for field, message in causes_of(entry.event):
            immutable = field in IMMUTABLE_FIELDS and _IMMUTABLE in message
            if not immutable and _OF_OTHER_CASES.fullmatch(field) is None:
                raise Violation(
                    f"{entry.event.verb} of {named(entry.event.body or {})}",
                    got=f"{REFUSED_CODE}: {message if field in message else f'{field}: {message}'}",
                    want="a slice that passes the validation of the API server",
                    proof=(entry.serial,),
                )


def fixed_fields_must_stay(writes: Iterable[Entry[ApiRequest]]) -> None:
    """No update was refused for changing a field that is fixed for the life of a slice."""
    for entry in writes:
        for field, message in causes_of(entry.event):
            if field in IMMUTABLE_FIELDS and _IMMUTABLE in message:
                raise Violation(
                    f"{entry.event.verb} of ResourceSlice {entry.event.name}",
                    got=f"{field} changed: {message}",
                    want="a new slice in place of the old one: the field is immutable",
                    proof=(entry.serial,),
                )

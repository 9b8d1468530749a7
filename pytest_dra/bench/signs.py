"""Features that a driver shows by itself: in slices, registrations, streams, answers and writes."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.bench.ailing import ailing
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.grouping import FIELD as GROUPS
from pytest_dra.bench.grouping import has_groups
from pytest_dra.bench.publishing import WRITES
from pytest_dra.bench.publishing import slices_of
from pytest_dra.bench.writing import slice_writes
from pytest_dra.catalogue import catalogue
from pytest_dra.checks import metadata
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import feature_applies
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import HealthReport
from pytest_dra.timeline import RegistrationCall
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until
from pytest_dra.wire.messages import HEALTH_METHODS

IN_DEVICE: Final = {
    "DeviceTaints": "taints",
    "PartitionableDevices": "consumesCounters",
    "ConsumableCapacity": "allowMultipleAllocations",
    "BindingConditions": "bindingConditions",
    "NodeAllocatable": "nodeAllocatableResources",
}
IN_SLICE: Final = {
    "PartitionableDevices": ("sharedCounters", "perDeviceNodeSelection"),
    "NetworkAttached": ("allNodes", "nodeSelector"),
    "OptionalNodeOps": ("skipNodeOperations",),
}
"""Fields of devices and slices by the feature that they are a sign of."""

IN_SLICES: Final = frozenset({*IN_DEVICE, *IN_SLICE, "CompatibilityGroups", "ListAttributes"})
"""Features whose sign stands in slices."""

LISTS: Final = frozenset({"bools", "ints", "strings", "versions"})
"""Types of attributes that hold a list."""

BY_CDI: Final = "CDIInjection"

STATUS: Final = "DeviceStatus"

HEALTH: Final = "DeviceHealth"

OF_CLAIMS: Final = frozenset({BY_CDI, "DeviceMetadata", STATUS})
OF_FAULTS: Final = frozenset({"DeviceTaints", "HealthMessage"})
"""Features that show when a claim is prepared, and when a device is faulty."""

SHOWN: Final = IN_SLICES | OF_CLAIMS | OF_FAULTS | {HEALTH}
"""Features that a driver shows without being asked, so that their cases concern it where it does
not declare them, too; the others are a matter of their own cases, which ask for them."""

SHOWN_S: Final = 30.0
"""How long a driver may take for that."""

METADATA: Final = f"{metadata.ROOT}/"
"""Where containers find the metadata of their devices."""


def in_slices(sent: Iterable[Json]) -> dict[str, str]:
    """Features with their sign in slices as they were sent."""
    specs = [body.get("spec") or {} for body in sent]
    devices = [device for spec in specs for device in spec.get("devices") or ()]
    return dict(_in_slices(specs, devices))


def _in_slices(specs: list[Json], devices: list[Json]) -> Iterator[tuple[str, str]]:
    for feature, field in IN_DEVICE.items():
        if any(device.get(field) for device in devices):
            yield feature, f"{field} of a device"
    if any(map(has_groups, devices)):
        yield "CompatibilityGroups", f"{GROUPS} of a device"
    for feature, fields in IN_SLICE.items():
        for field in fields:
            if any(spec.get(field) for spec in specs):
                yield feature, f"{field} of a slice"
    for device in devices:
        if any(LISTS & set(value) for value in (device.get("attributes") or {}).values()):
            yield "ListAttributes", "a list-valued attribute of a device"
            break


def unasked(bench: Bench) -> dict[str, str]:
    """Features of :data:`SHOWN` with the sign that the driver under test has shown so far.

    A health service that is advertised and declines is none that its cases could judge, nor is one
    that speaks of no device.
    """
    instance = bench.instance
    reports = bench.timeline.entries(
        HealthReport, where=lambda event: event.instance == instance.name and bool(event.devices)
    )
    return {
        **in_slices(bench.slices_as_sent()),
        **_reported(entry.event for entry in reports),
        **_written(bench, {instance.user}),
        **_prepared(bench),
    }


def advertised(versions: Iterable[str]) -> dict[str, str]:
    """Features with their sign in what GetInfo advertises."""
    found = [service for service in versions if service in HEALTH_METHODS]
    return {HEALTH: f"{found[0]} in GetInfo"} if found else {}


def of_run(bench: Bench) -> dict[str, str]:
    """Features with the sign that the whole run has of them so far, from the bench's timeline."""
    found = in_slices(slices_of(slice_writes(bench)))
    calls = [entry.event for entry in bench.timeline.entries(RegistrationCall)]
    versions = [
        version for call in calls for version in (call.response or {}).get("supported_versions", ())
    ]
    found |= advertised(versions)
    found |= _reported(entry.event for entry in bench.timeline.entries(HealthReport))
    found |= _written(bench, bench.places)
    return found | _prepared(bench)


def _prepared(bench: Bench) -> dict[str, str]:
    found = {}
    for preparation in bench.instance.preparations:
        if any(ids for _, ids in preparation.ids()):
            found[BY_CDI] = "CDI ids in a response"
        for _, edits in preparation.edits():
            if any(METADATA in str(mount) for mount in edits.get("mounts") or ()):
                found["DeviceMetadata"] = "a metadata mount"
    return found


def _reported(reports: Iterable[HealthReport]) -> Mapping[str, str]:
    found = {}
    for report in reports:
        found[HEALTH] = "a message on a health stream"
        if any(device.get("message") for device in report.devices):
            found["HealthMessage"] = "a message in a health report"
    return found


def _written(bench: Bench, users: Collection[str]) -> Mapping[str, str]:
    """Device status, if one of these identities has written some."""
    if bench.timeline.entries(ApiRequest, where=lambda event: is_status_write(event, users)):
        return {STATUS: "a write to resourceclaims/status"}
    return {}


def is_status_write(event: ApiRequest, users: Iterable[str]) -> bool:
    """True for a write of one of these identities to the status of a claim."""
    return (
        event.resource == RESOURCE_CLAIMS.plural
        and event.subresource == "status"
        and event.verb in WRITES
        and event.identity in users
    )


def provoke(bench: Bench, features: Collection[str]) -> dict[str, str]:
    """Do what makes a driver show features that it has not shown yet.

    A claim is prepared and held, and a device made faulty where the profile has ``hooks.fault``.

    Returns:
        The features that cannot be shown so, with the reason.
    """
    missing, left = frozenset(features), dict[str, str]()
    if missing & OF_CLAIMS:
        claim = bench.claim(bench.devices(1))
        if bench.prepare(claim).error_for(claim.uid):
            left |= dict.fromkeys(missing & OF_CLAIMS, "no claim can be prepared")
        else:
            _wait(bench, missing & OF_CLAIMS)
        bench.unprepare(claim)
    if missing & OF_FAULTS and not bench.profile.hooks.fault:
        left |= dict.fromkeys(missing & OF_FAULTS, "hooks.fault would show it")
    elif missing & OF_FAULTS:
        with ailing(bench, bench.devices(1)[0]):
            _wait(bench, missing & OF_FAULTS)
    return left


def _wait(bench: Bench, features: Collection[str]) -> None:
    deadline = Deadline.after(bench.within(SHOWN_S))
    until(bench.timeline, lambda: set(features) <= of_run(bench).keys(), deadline)


def declared(profile: DriverProfile, version: KubernetesVersion) -> dict[str, str]:
    """Features that the profile itself declares and Kubernetes has, with their sign in words.

    Only those that a driver shows by itself.
    """
    injects = profile.path is not None and profile.driver.registers
    own = {*profile.features, *([BY_CDI] if injects else [])}
    return {
        known.name: known.sign
        for known in catalogue().features.values()
        if known.name in own & SHOWN
        and profile.declares(known.name)
        and feature_applies(known.name, version.name, gates=version.gates)
    }

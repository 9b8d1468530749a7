"""Shares of a device that several claims may have at a time."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench import claims
from pytest_dra.bench import observing
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.devices import Device
from pytest_dra.bench.devices import same_in
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment

BOTH: Final = 2

PARTS: Final = 3
"""A share is at most such a part of what no policy is given for: three of them fit."""

BACK_S: Final = 150.0
"""Deadline for a slice that was deleted (SLICE-012)."""

TOLD_SINCE: Final = 35
TOLD_BY: Final = "v1.DRAPlugin"
"""Kubernetes minor and service that have ``share_id``."""

RETURNS: Final = "SLICE-012"
"""The case that says that deleted slices come back."""


def shared_device(bench: Bench) -> Device:
    """The first device that may be allocated several times.

    Raises:
        UnsupportedEnvironment: the driver publishes none, though it declares the feature.
    """
    found = bench.look_for(lambda: _shared(bench.instance.devices()))
    if found is None:
        raise UnsupportedEnvironment(
            "needs a device with allowMultipleAllocations, and none is published",
            way_out="let the driver publish one, or take ConsumableCapacity out of the profile",
        )
    return found


def _shared(devices: Iterable[Device]) -> Device | None:
    return next((each for each in devices if each.spec.get("allowMultipleAllocations")), None)


def amounts(device: Device, *, hundredths: int | None = None) -> dict[str, str]:
    """What one share consumes: the least that the policies allow, or so much of each capacity."""
    return {
        name: _least(value) if hundredths is None else _part(value, hundredths)
        for name, value in (device.spec.get("capacity") or {}).items()
    }


def _least(capacity: Mapping[str, Json]) -> str:
    policy = capacity.get("requestPolicy") or {}
    values = policy.get("validValues") or []
    for found in (*values[:1], (policy.get("validRange") or {}).get("min")):
        if found is not None:
            return str(found)
    return str(policy.get("default") or _part(capacity, 100 // PARTS))


def _part(capacity: Mapping[str, Json], hundredths: int) -> str:
    whole = Quantity.parse(str(capacity["value"])).whole()
    return str(max(1, whole * hundredths // 100))


def share(
    bench: Bench, device: Device, *, request: str = "req-0", hundredths: int | None = None
) -> Json:
    """An allocation result with a share of the device, under an id of its own."""
    return {
        **exclusive(bench, device, request=request),
        "shareID": str(uuid.uuid4()),
        "consumedCapacity": amounts(device, hundredths=hundredths),
    }


def exclusive(bench: Bench, device: Device, *, request: str = "req-0") -> Json:
    """An allocation result of the whole device, as a scheduler without the feature writes it."""
    return claims.exclusive(request, device, driver=bench.driver)


def observed_share(
    bench: Bench, device: Device, *, asked: Mapping[str, str], consumed: Mapping[str, str]
) -> str:
    """What is set for a claim that asks for so much of a device and was given so much."""
    wanted = Wanted(request="req-0", devices=(device,), capacity=asked)
    result = share(bench, device)
    result["consumedCapacity"] = {**amounts(device), **consumed}
    claim = bench.allocate(bench.claims.create([wanted]), [result])
    what = f"a share of device {device.name!r}"
    seen = observing.look_once(bench, claim, device, what=what)
    return seen.replace(str(result["shareID"]), "SHARE")


def claim_with(
    bench: Bench, device: Device, results: Sequence[Json], *, config: Sequence[Json] = ()
) -> Claim:
    """A claim that was given exactly these results."""
    wanted = [Wanted(request=str(each["request"]), devices=(device,)) for each in results]
    claim = bench.claims.create(wanted, config=config)
    return bench.allocate(claim, results, config=config)


def again_after_deletion(bench: Bench, device: Device) -> Device:
    """The device as it is published again after its slice was deleted.

    Raises:
        Blocked: it does not come back.
    """
    instance = bench.instance
    with bench.timeline.disturbance("a slice deleted"):
        for item in instance.slices():
            if same_in(device, [item]) is not None:
                bench.cluster.admin().delete(RESOURCE_SLICES, item["metadata"]["name"])
        now = instance.wait_for_slices(
            lambda slices: same_in(device, slices) is not None, within_s=bench.within(BACK_S)
        )
    found = same_in(device, now)
    if found is None:
        raise Blocked(RETURNS)
    return dataclasses.replace(device, spec=found)


def are_told(bench: Bench) -> bool:
    """True if answers to Prepare have share ids: on v1, and to a kubelet from 1.35 on."""
    plugin = bench.instance.plugin()
    new = bench.cluster.version.minor >= TOLD_SINCE
    return new and plugin is not None and plugin.service == TOLD_BY

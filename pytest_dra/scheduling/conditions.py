"""Binding conditions of allocated devices: ready, waiting, failed, or waiting for too long.

Source: kube-scheduler 1.37.2, plugin DynamicResources (``isClaimReadyForBinding`` and
``isClaimTimeout``), read. Devices are looked at in the order of the allocation, and the first one
that is not ready decides: a failure of a later one shows when the earlier ones are bound.
"""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any
from typing import Final

from pytest_dra.api.times import moment_of
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import results_of

Json = dict[str, Any]

READY: Final = "ready"
WAITING: Final = "waiting"
FAILED: Final = "failed"
LATE: Final = "late"

BINDING_TIMEOUT_S: Final = 600
"""Seconds that drivers have to fulfil binding conditions, as kube-scheduler's default."""

TIMEOUT_TEXT: Final = f"{BINDING_TIMEOUT_S // 60} minutes"


@dataclasses.dataclass(frozen=True, slots=True)
class Readiness:
    """``state`` of a claim's devices, and ``why`` ("" where they are ready)."""

    state: str
    why: str = ""

    @property
    def lost(self) -> bool:
        """True if nobody waits for it any more: the allocation is given back."""
        return self.state in (FAILED, LATE)


def readiness(claim: Json, moment: datetime.datetime) -> Readiness:
    """How far the devices of a claim are at a moment; those without conditions are ready."""
    allocation = allocation_of(claim)
    if allocation is None:
        return Readiness(READY)
    for result in results_of(allocation):
        if result.get("bindingConditions"):
            found = _of_device(claim, result)
            if found.state == WAITING and _is_late(allocation, moment):
                since = allocation["allocationTimestamp"]
                return Readiness(LATE, f"{found.why} since {since}, for over {TIMEOUT_TEXT}")
            if found.state != READY:
                return found
    return Readiness(READY)


def _of_device(claim: Json, result: Json) -> Readiness:
    said: Json = {}
    for one in (claim.get("status") or {}).get("devices") or ():
        if device_of(one) == device_of(result):
            said = {each.get("type"): each for each in one.get("conditions") or ()}
            break
    name = "/".join(device_of(result))
    for kind in result.get("bindingFailureConditions") or () if said else ():
        found = said.get(kind) or {}
        if found.get("status") == "True":
            told = ": ".join(str(found[one]) for one in ("reason", "message") if found.get(one))
            return Readiness(FAILED, f"device {name}: {kind} is True ({told})")
    for kind in result["bindingConditions"]:
        if (said.get(kind) or {}).get("status") != "True":
            return Readiness(WAITING, f"device {name}: binding condition {kind} is not True")
    return Readiness(READY)


def _is_late(allocation: Json, moment: datetime.datetime) -> bool:
    since = moment_of(allocation.get("allocationTimestamp"))
    return since is not None and (moment - since).total_seconds() > BINDING_TIMEOUT_S

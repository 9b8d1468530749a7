"""Conditions of devices for which a pod's binding waits."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from pytest_dra.checks.claim_status import Key
from pytest_dra.checks.claim_status import entries_of
from pytest_dra.checks.claim_status import key_of
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

TRUE = "True"


def conditions_at(claim: Json | None, key: Key) -> dict[str, str]:
    """The status of each condition, in the entry of one device."""
    return {
        str(each.get("type")): str(each.get("status"))
        for entry in entries_of(claim)
        if key_of(entry) == key
        for each in entry.get("conditions") or []
    }


def all_must_be_met(claim: Json, result: Json, *, within_s: float, what: str) -> None:
    """Every binding condition of an allocation result is True in the entry of its device."""
    found = conditions_at(claim, key_of(result))
    missing = [kind for kind in result.get("bindingConditions") or () if found.get(kind) != TRUE]
    if missing:
        raise Violation(
            f"binding conditions of device {result['device']!r} in {what}",
            got=found or "no condition in status.devices",
            want=f"{', '.join(missing)} True within {within_s:g} s (budgets.binding)",
        )


def failure_must_be_told(claim: Json, result: Json, *, within_s: float, what: str) -> None:
    """One of the failure conditions of a result is True."""
    found = conditions_at(claim, key_of(result))
    kinds = result.get("bindingFailureConditions") or ()
    if not any(found.get(kind) == TRUE for kind in kinds):
        raise Violation(
            f"conditions of device {result['device']!r} in {what}",
            got=found or "no condition in status.devices",
            want=f"one of {', '.join(kinds)} True within {within_s:g} s (budgets.binding)",
        )


def must_not_be_offered(before: Json, now: Json | None, *, device: str, within_s: float) -> None:
    """A device that could not be attached is tainted, withdrawn or chosen by other nodes."""
    if now is not None and not now.get("taints") and _choice(now) == _choice(before):
        raise Violation(
            f"device {device!r}, {within_s:g} s after its attachment has failed",
            got="published as before",
            want="tainted, withdrawn or with another choice of nodes",
        )


def _choice(device: Json) -> Json:
    names = ("nodeName", "nodeSelector", "allNodes")
    return {name: device[name] for name in names if name in device}


def must_begin_anew(
    told: Mapping[str, str], fresh: Mapping[str, str], *, device: str, former: str
) -> None:
    """What is told first of a new allocation is what is told first of any.

    Args:
        told: conditions that are told first after the claim has got another device.
        fresh: the same of a new claim on that device.
        device: its name.
        former: the device that the claim had.
    """
    early = sorted(kind for kind, value in told.items() if value == TRUE != fresh.get(kind))
    if early:
        raise Violation(
            f"first conditions of device {device!r} in a claim that had {former!r} before",
            got=dict(told),
            want=f"{', '.join(early)} not True at first, as for a new claim: {dict(fresh)}",
        )


def former_must_be_gone(claim: Json, allocated: Collection[Key], *, driver: str) -> None:
    """No entry of the driver is left for what a claim holds no more."""
    left = [key_of(entry) for entry in entries_of(claim) if entry.get("driver") == driver]
    former = sorted(key[1:] for key in left if key not in allocated)
    if former:
        raise Violation(
            "status.devices of a claim with a new allocation",
            got=f"entries for {former}",
            want="entries for what the claim holds now",
        )

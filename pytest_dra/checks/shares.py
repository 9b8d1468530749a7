"""Shares of one device in answers to Prepare, and in slices."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.checks import settings
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.wire.answers import NodeReply

BOTH: Final = 2
"""Amounts that make a step."""


def ids_must_be_repeated(reply: NodeReply, uid: str, *, shares: Collection[str], what: str) -> None:
    """The returned devices carry exactly these share ids."""
    found = [device.share_id for device in reply.devices_of(uid)]
    if set(found) != set(shares):
        raise Violation(
            what,
            got=f"share_id {found}",
            want=f"share_id {sorted(shares)}, as in the allocation",
            proof=(reply.serial,),
        )


def must_be_apart(
    reply: NodeReply, uid: str, *, shares: Collection[str], told: bool, what: str
) -> None:
    """As many shares come back as the claim has: told apart by id, by entry or by CDI device.

    Args:
        reply: the answer to Prepare.
        uid: the claim.
        shares: ids in its allocation.
        told: the call's version has share ids.
        what: names the claim.
    """
    devices = reply.devices_of(uid)
    known = {device.share_id for device in devices if device.share_id}
    if told and known:
        ids_must_be_repeated(reply, uid, shares=shares, what=what)
        return
    cdi_ids = {id for device in devices for id in device.cdi_device_ids}
    if len(devices) < len(shares) and len(cdi_ids) < len(shares):
        raise Violation(
            what,
            got=f"{len(devices)} devices with {len(cdi_ids)} CDI ids",
            want=f"{len(shares)} shares of the device, each by itself",
            proof=(reply.serial,),
        )


def policy_of(device: Json) -> Json:
    """What says how a device may be shared."""
    capacity = (device.get("capacity") or {}).items()
    return {
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "requestPolicy": {
            name: value["requestPolicy"] for name, value in capacity if value.get("requestPolicy")
        },
    }


def policy_must_stay(before: Json, after: Json, *, what: str) -> None:
    """A device may be shared as it could before."""
    if policy_of(before) != policy_of(after):
        raise Violation(what, got=policy_of(after), want=f"as before: {policy_of(before)}")


def consumed_must_be_enforced(seen: str, *, wanted: str, requested: str, what: str) -> None:
    """What is in force is the amount of the allocation, whatever was asked for.

    Args:
        seen: what is in force for a claim that was given more than it has asked for.
        wanted: the same for one that has asked for what it was given.
        requested: the amount that was asked for, for the message.
        what: the amount that was given, with the name of the capacity.
    """
    settings.setting_must_be(
        seen,
        wanted=wanted,
        others={},
        what=f"a share with {what} that has asked for {requested}",
        want=f"that of a share which has asked for {what}: {wanted[: settings.SHOWN]}",
    )


def rounded(device: Json) -> tuple[str, str, str, str] | None:
    """A capacity whose policy has two amounts: its name, the lower one, what is rounded up to the
    higher one, and that; None if no policy of the published device has."""
    for name, value in (device.get("capacity") or {}).items():
        policy = value.get("requestPolicy") or {}
        some = [Quantity.parse(str(each)).whole() for each in policy.get("validValues") or []]
        steps = policy.get("validRange") or {}
        if not some and steps.get("step"):
            least = Quantity.parse(str(steps["min"])).whole()
            some = [least, least + Quantity.parse(str(steps["step"])).whole()]
        whole = Quantity.parse(str(value["value"])).whole()
        low, high = (*sorted(set(some))[:BOTH], 0, 0)[:BOTH]
        if low + 1 < high <= whole:
            return name, str(low), str(low + 1), str(high)
    return None

"""Answers of a driver, as short as a test can write them."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dra.wire.answers import ClaimAnswer
from pytest_dra.wire.answers import ClaimRef
from pytest_dra.wire.answers import NodeReply
from pytest_dra.wire.answers import PreparedDevice

UID = "uid-a"
OTHER = "uid-b"

SERIAL = 7
"""Place of every answer on the timeline, unless a test tells two apart."""


def ref(uid: str = UID) -> ClaimRef:
    """A claim as a call names it."""
    return ClaimRef(namespace="ns", uid=uid, name=f"claim-{uid}")


def device(
    name: str = "gpu-0",
    *,
    pool: str = "node-a",
    requests: tuple[str, ...] = ("req-0",),
    ids: tuple[str, ...] = (),
    share: str | None = None,
) -> PreparedDevice:
    """One returned device."""
    return PreparedDevice(
        request_names=requests,
        pool_name=pool,
        device_name=name,
        cdi_device_ids=ids,
        share_id=share,
    )


def answered(*devices: PreparedDevice, uid: str = UID, serial: int = SERIAL) -> NodeReply:
    """OK, with these devices for one claim."""
    return entries({uid: ClaimAnswer(error="", devices=devices)}, serial=serial)


def refused(error: str, *, uid: str = UID) -> NodeReply:
    """OK, with an error for one claim."""
    return entries({uid: ClaimAnswer(error=error)})


def entries(claims: Mapping[str, ClaimAnswer], *, serial: int = SERIAL) -> NodeReply:
    """OK, with exactly these entries."""
    return NodeReply(code="OK", details="", duration_s=0.01, serial=serial, claims=claims)


def broken(code: str = "INTERNAL", details: str = "boom", *, after_s: float = 0.01) -> NodeReply:
    """A status other than OK for the whole call."""
    return NodeReply(code=code, details=details, duration_s=after_s, serial=SERIAL, claims={})

"""What a driver writes to claims: entries of ``status.devices``, and nothing else."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

from pytest_dra.api.names import label_key_error
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

CONDITIONS, IPS = 8, 16
DATA_BYTES, NAME_BYTES, HARDWARE_BYTES = 10_240, 256, 128
REASON_BYTES, MESSAGE_BYTES = 1_024, 32_768
"""Limits of an entry (contract 1.5)."""

READY: Final = "Ready"

OTHERS_FIELDS: Final = ("spec", "status.allocation", "status.reservedFor")
"""What is the user's, the scheduler's and the controller's."""

_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_STATUSES: Final = ("True", "False", "Unknown")

Key = tuple[str, str, str, str]
"""Driver, pool, device and share id."""


def key_of(entry: Json) -> Key:
    """What an entry of ``status.devices`` or an allocation result is about."""
    names = ("driver", "pool", "device", "shareID")
    driver, pool, device, share = (str(entry.get(name) or "") for name in names)
    return driver, pool, device, share


def entries_of(claim: Json | None) -> list[Json]:
    """The entries of a claim's ``status.devices``."""
    return ((claim or {}).get("status") or {}).get("devices") or []


def results_of(claim: Json | None) -> set[Key]:
    """The devices of a claim's allocation."""
    status = (claim or {}).get("status") or {}
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or []
    return {key_of(result) for result in results}


def entries_must_be_allocated(
    entries: Iterable[Json], *, driver: str, allocated: Collection[Key], what: str, serial: int
) -> None:
    """Entries that carry the driver's name are about devices that the claim holds.

    Args:
        entries: as they were sent.
        driver: its name.
        allocated: what the claim holds, or has held.
        what: names the write.
        serial: of the write.
    """
    for entry in entries:
        key = key_of(entry)
        if key[0] == driver and key not in allocated:
            held = sorted(each[1:] for each in allocated if each[0] == driver)
            raise Violation(
                f"status.devices in {what}",
                got=f"an entry for pool, device and share {key[1:]}",
                want=f"entries for what the claim holds: {held}",
                proof=(serial,),
            )


def others_must_stay(before: Json, after: Json, *, driver: str, what: str, serial: int) -> None:
    """The entries of other drivers are after a write what they were before."""
    mine = [_of_others(claim, driver) for claim in (before, after)]
    if mine[0] != mine[1]:
        raise Violation(
            f"entries of other drivers in status.devices after {what}",
            got=list(mine[1].values()),
            want=f"unchanged: {list(mine[0].values())}",
            proof=(serial,),
        )


def _of_others(claim: Json, driver: str) -> Mapping[Key, Json]:
    return {key_of(entry): entry for entry in entries_of(claim) if entry.get("driver") != driver}


def limits_must_be_kept(entries: Iterable[Json], *, what: str, serial: int) -> None:
    """Conditions, data and network data of entries are legal, as they were sent."""
    for number, entry in enumerate(entries):
        for field, got, want in _flaws(entry):
            raise Violation(
                f"status.devices[{number}].{field} in {what}", got=got, want=want, proof=(serial,)
            )


Flaw = tuple[str, object, str]
"""Field, what it holds, and what it may hold."""


def _flaws(entry: Json) -> Iterator[Flaw]:
    conditions = entry.get("conditions") or []
    if len(conditions) > CONDITIONS:
        yield "conditions", f"{len(conditions)} conditions", f"at most {CONDITIONS}"
    types = [each.get("type") for each in conditions]
    for number, each in enumerate(conditions):
        if types.index(each.get("type")) < number:
            yield f"conditions[{number}].type", each.get("type"), "each type once"
        for field, got, want in _flaws_of_condition(each):
            yield f"conditions[{number}].{field}", got, want
    data = entry.get("data")
    if data is not None:
        size = len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())
        if not isinstance(data, dict):
            yield "data", data, "a JSON object"
        elif size > DATA_BYTES:
            yield "data", f"{size} bytes", f"at most {DATA_BYTES} bytes"
    yield from _flaws_of_network(entry.get("networkData") or {})


def _flaws_of_condition(condition: Json) -> Iterator[Flaw]:
    kind, reason = str(condition.get("type") or ""), str(condition.get("reason") or "")
    error = label_key_error(kind)
    if error:
        yield "type", kind, f"a name such as {READY} or example.com/{READY}: {error}"
    if condition.get("status") not in _STATUSES:
        yield "status", condition.get("status"), f"one of {', '.join(_STATUSES)}"
    if not condition.get("lastTransitionTime"):
        yield "lastTransitionTime", condition.get("lastTransitionTime"), "a time"
    if _REASON.fullmatch(reason) is None or len(reason.encode()) > REASON_BYTES:
        yield "reason", reason, f"a word in CamelCase of at most {REASON_BYTES} bytes"
    size = len(str(condition.get("message") or "").encode())
    if size > MESSAGE_BYTES:
        yield "message", f"{size} bytes", f"at most {MESSAGE_BYTES} bytes"


def _flaws_of_network(data: Json) -> Iterator[Flaw]:
    for field, limit in (("interfaceName", NAME_BYTES), ("hardwareAddress", HARDWARE_BYTES)):
        size = len(str(data.get(field) or "").encode())
        if size > limit:
            yield f"networkData.{field}", f"{size} bytes", f"at most {limit} bytes"
    ips = data.get("ips") or []
    if len(ips) > IPS:
        yield "networkData.ips", f"{len(ips)} addresses", f"at most {IPS}"
    for number, text in enumerate(ips):
        if ips.index(text) < number:
            yield f"networkData.ips[{number}]", text, "each address once"
        wanted = _canonical(str(text))
        if wanted != text:
            yield f"networkData.ips[{number}]", text, f"address/prefix length, such as {wanted}"


def _canonical(text: str) -> str:
    try:
        return str(ipaddress.ip_interface(text).with_prefixlen)
    except ValueError:
        return "192.0.2.5/24"


def must_leave_alone(before: Json, after: Json, *, what: str, serial: int) -> None:
    """A driver's write has not changed what is not the driver's."""
    for field in OTHERS_FIELDS:
        old, new = _at(before, field), _at(after, field)
        if old != new:
            raise Violation(
                f"{field} of a claim after {what}",
                got=new,
                want=f"unchanged: {old}",
                proof=(serial,),
            )


def must_not_try(before: Json, body: Json, *, what: str, serial: int) -> None:
    """A write that was refused would not have changed what is not the driver's, either.

    Only what the body names is looked at, which need not be the whole object.
    """
    named = body.get("status") or {}
    for field in ("allocation", "reservedFor"):
        old = _at(before, f"status.{field}")
        if field in named and named[field] != old and (named[field] or old):
            raise Violation(
                f"status.{field} of a claim in {what}, which was refused",
                got=named[field],
                want=f"unchanged: {old}",
                proof=(serial,),
            )


def _at(claim: Json, field: str) -> object:
    found: object = claim
    for name in field.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def ready_of(claim: Json | None, driver: str) -> dict[Key, str]:
    """The status of the condition Ready by device, for entries of a driver that have one."""
    return {
        key_of(entry): str(condition.get("status"))
        for entry in entries_of(claim)
        if entry.get("driver") == driver
        for condition in entry.get("conditions") or []
        if condition.get("type") == READY
    }


def must_not_be_ready(ready: Mapping[Key, str], *, within_s: float, what: str) -> None:
    """No device of a released claim is said to be ready."""
    left = sorted(key[1:] for key, status in ready.items() if status == "True")
    if left:
        raise Violation(
            f"status.devices of {what}, {within_s:g} s after Unprepare",
            got=f"Ready is True for {left}",
            want="no entry, or one whose condition Ready is not True",
        )

"""What a driver writes to the status of claims."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.claimhistory import ClaimWrite
from pytest_dra.bench.claimhistory import claim_writes
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import decoy
from pytest_dra.bench.devices import Device
from pytest_dra.bench.hindrances import trouble_of
from pytest_dra.bench.signs import is_status_write
from pytest_dra.checks import claim_status
from pytest_dra.checks.claim_status import READY
from pytest_dra.checks.claim_status import Key
from pytest_dra.checks.claim_status import entries_of
from pytest_dra.checks.claim_status import ready_of
from pytest_dra.checks.claim_status import results_of
from pytest_dra.embedded.trouble import Scope
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

WRITTEN_S: Final = 30.0
"""How long a driver may take to write the status of a claim that was prepared or released."""

NOT_FOUND: Final = 404

REST_S: Final = 1.0
"""How much longer the other claims are waited for once one is written."""

SIGN: Final = "FEAT-001"
"""The case that says that a driver which declares device status writes some."""

_DEVICES: Final = "/status/devices"


def own_writes(bench: Bench, *, since: int = 0) -> list[ClaimWrite]:
    """All writes of claims, of whatever part, by the bench's instances."""
    writes, places = claim_writes(bench.timeline, since=since), bench.places
    return [each for each in writes if each.entry.event.identity in places]


def status_writes(bench: Bench) -> list[ClaimWrite]:
    """The writes of the run to the status of claims, by the bench's instances."""
    return [each for each in own_writes(bench) if is_status_write(each.entry.event, bench.places)]


def others_must_stay(bench: Bench, *, since: int) -> None:
    """No write by the bench's instances has changed the entries of other drivers.

    Raises:
        Violation: one has.
    """
    for write in own_writes(bench, since=since):
        if write.before is not None and write.after is not None:
            claim_status.others_must_stay(
                write.before,
                write.after,
                driver=bench.driver,
                what=write.what,
                serial=write.entry.serial,
            )


def with_allocations(bench: Bench) -> Iterator[tuple[ClaimWrite, set[Key]]]:
    """The same, each with all that the claim holds or has held by then.

    A driver that is late may still write of what the claim has held a moment before, or to a claim
    that has gone: what is not found is left out.
    """
    held: dict[str, set[Key]] = {}
    for write in claim_writes(bench.timeline):
        known = held.setdefault(write.uid, set())
        for claim in (write.before, write.after):
            known |= results_of(claim)
        is_known = write.entry.event.code != NOT_FOUND and bool(known)
        if is_known and is_status_write(write.entry.event, bench.places):
            yield write, known


def sent_entries(write: ClaimWrite) -> list[Json]:
    """The entries of ``status.devices`` in what was sent: an object, or the steps of a patch."""
    body: object = write.entry.event.body
    if isinstance(body, dict):
        return entries_of(body)
    found: list[Json] = []
    for step in body if isinstance(body, list) else ():
        value = step.get("value") if isinstance(step, dict) else None
        if isinstance(step, dict) and str(step.get("path", "")).startswith(_DEVICES):
            found.extend(value if isinstance(value, list) else [value or {}])
    return [each for each in found if isinstance(each, dict) and "device" in each]


def told(bench: Bench) -> list[ClaimWrite]:
    """The status writes of the run, once a claim of each kind of device was prepared.

    Raises:
        Blocked: there is none.
    """
    since = len(bench.timeline)
    claims = [bench.claim([device]) for device in bench.kinds_at_once()]
    for claim in claims:
        bench.prepare(claim)
    if wait_for(bench, lambda: any(count(bench, claim, since=since) for claim in claims)):
        rest = Deadline.after(REST_S)
        until(bench.timeline, lambda: all(count(bench, each, since=since) for each in claims), rest)
    for claim in claims:
        bench.unprepare(claim)
    found = status_writes(bench)
    if not found:
        raise Blocked(SIGN)
    return found


def device_told_ready(bench: Bench) -> Device | None:
    """A device that any status write of the run has said to be ready; None if there is none.

    Raises:
        Blocked: the driver writes no status.
    """
    ready = {
        key[1:3]
        for write in told(bench)
        for key, status in ready_of(write.after, bench.driver).items()
        if status == "True"
    }
    free = bench.one_of_each_kind()
    return next((each for each in free if (each.pool, each.name) in ready), None)


def device_told(bench: Bench) -> Device:
    """A device of a kind that the driver writes status of: some tell of network devices alone.

    Raises:
        Blocked: it writes none.
    """
    named = {
        (entry.get("pool"), entry.get("device"))
        for write in status_writes(bench) or told(bench)
        for entry in sent_entries(write)
        if entry.get("driver") == bench.driver
    }
    free = bench.one_of_each_kind()
    return next((each for each in free if (each.pool, each.name) in named), free[0])


def wait_for(bench: Bench, wanted: Callable[[], bool], *, within_s: float = WRITTEN_S) -> bool:
    """Wait for something that a driver writes; False if it has not in time, or has ended."""
    deadline = Deadline.after(bench.within(within_s))
    until(bench.timeline, lambda: wanted() or bench.instance.over, deadline)
    return wanted()


def wait_for_writes(
    bench: Bench, claim: Claim, *, since: int, number: int = 1, within_s: float = WRITTEN_S
) -> None:
    """Wait until the driver has written the claim's status so often, whatever was answered."""
    wait_for(bench, lambda: count(bench, claim, since=since) >= number, within_s=within_s)


def count(bench: Bench, claim: Claim, *, since: int) -> int:
    """How often the driver has written the claim's status, whether it was refused or not."""
    places = bench.places
    return len(
        bench.timeline.entries(
            ApiRequest,
            since=since,
            where=lambda event: event.name == claim.name and is_status_write(event, places),
        )
    )


def now_of(bench: Bench, claim: Claim, *, since: int) -> Json:
    """The claim as the last write of it has left it, from a serial on."""
    last: Json = {}
    for each in claim_writes(bench.timeline, since=since):
        if each.uid == claim.uid:
            last = each.after or last
    return last


def tell_of_decoy(bench: Bench, claim: Claim) -> None:
    """Write an entry of the claim's other driver."""
    entry = {name: value for name, value in decoy("").items() if name != "request"}
    ready = {
        "type": READY,
        "status": "True",
        "reason": "Attached",
        "message": "by another driver",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    network = {"interfaceName": "decoy0", "ips": ["198.51.100.7/24"]}
    told = {**entry, "conditions": [ready], "networkData": network}
    bench.claims.write_status(claim, lambda status: {**status, "devices": [told]})


@contextmanager
def refused_writes(bench: Bench, code: int, *, times: int | None = None) -> Iterator[None]:
    """The driver's updates and patches of claims are answered with a code."""
    scope = Scope(
        identity=bench.instance.user, verbs=("update", "patch"), resource=RESOURCE_CLAIMS.plural
    )
    with (
        bench.timeline.disturbance(f"writes of claims answered {code}"),
        trouble_of(bench).refuse(scope, code, times=times),
    ):
        yield

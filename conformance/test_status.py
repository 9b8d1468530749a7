"""STAT: the status of devices in claims."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Wanted
from pytest_dra.bench import statuses
from pytest_dra.bench.calls import TRIES
from pytest_dra.bench.calls import calls_with_claims
from pytest_dra.bench.calls import retried
from pytest_dra.bench.claims import decoy
from pytest_dra.bench.claims import results_of
from pytest_dra.bench.shipping import manifests_must_pass
from pytest_dra.cases import case
from pytest_dra.checks import claim_status
from pytest_dra.checks import prepare
from pytest_dra.spec import Blocked
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable

CYCLES = 3
"""Claim cycles that a judgement of what is left alone needs (the catalogue's field ``traffic``)."""

FORBIDDEN, CONFLICT = 403, 409
CONFLICTS = 2

REST_S = 1.0
"""How long the release of a claim is looked at: most drivers write at once or not at all."""


@case("STAT-001", Level.MUST)
def test_stat_001_own_devices(dra_bench: Bench) -> None:
    """device status is written for own devices of the claim only"""
    statuses.told(dra_bench)
    for write, allocated in statuses.with_allocations(dra_bench):
        claim_status.entries_must_be_allocated(
            statuses.sent_entries(write),
            driver=dra_bench.driver,
            allocated=allocated,
            what=write.what,
            serial=write.entry.serial,
        )


@case("STAT-002", Level.MUST)
def test_stat_002_others_survive(dra_bench: Bench) -> None:
    """status entries of other drivers survive"""
    since = len(dra_bench.timeline)
    for conflicts in (0, 1):
        with statuses.refused_writes(dra_bench, CONFLICT, times=conflicts):
            claim = _told_beside_another(dra_bench, writes=conflicts + 1)
        released = len(dra_bench.timeline)
        dra_bench.unprepare(claim)
        statuses.wait_for_writes(dra_bench, claim, since=released, within_s=REST_S)
    statuses.others_must_stay(dra_bench, since=since)


def _told_beside_another(bench: Bench, *, writes: int) -> Claim:
    """A prepared claim of two drivers, after so many status writes of the one under test.

    Raises:
        Blocked: that has written none.
    """
    own = Wanted(request="own", devices=bench.together(statuses.device_told(bench)))
    claim = bench.claims.create([own, Wanted(request="decoy", devices=())])
    results = [*results_of([own], driver=bench.driver), decoy("decoy")]
    claim = bench.allocate(claim, results)
    statuses.tell_of_decoy(bench, claim)
    since = len(bench.timeline)
    if not bench.prepare(claim).error_for(claim.uid):
        statuses.wait_for_writes(bench, claim, since=since, number=writes)
    if not statuses.count(bench, claim, since=since):
        raise Blocked(statuses.SIGN)
    return claim


@case("STAT-003", Level.MUST)
def test_stat_003_limits(dra_bench: Bench) -> None:
    """device status keeps to the field limits"""
    for write in statuses.told(dra_bench):
        entries = [
            entry
            for entry in statuses.sent_entries(write)
            if entry.get("driver") == dra_bench.driver
        ]
        claim_status.limits_must_be_kept(entries, what=write.what, serial=write.entry.serial)


@case("STAT-004", Level.MUST, settles=True)
def test_stat_004_status_rights(dra_bench: Bench) -> None:
    """the shipped role covers status writes of 1.36"""
    manifests_must_pass(dra_bench, "STAT-004")


@case("STAT-005", Level.MUST)
def test_stat_005_left_alone(dra_bench: Bench) -> None:
    """allocation, reservations and spec are left alone"""
    device = dra_bench.devices(1)[0]
    for _ in range(max(1, CYCLES - len(calls_with_claims(dra_bench, prepare.UNPREPARE)))):
        claim = dra_bench.claim([device])
        dra_bench.prepare(claim)
        dra_bench.unprepare(claim)
    for bench in (dra_bench, *dra_bench.beside()):
        for write in statuses.own_writes(bench):
            what, serial = f"{write.what} by the driver", write.entry.serial
            if write.before is None:
                continue
            if not write.refused and write.after is not None:
                claim_status.must_leave_alone(write.before, write.after, what=what, serial=serial)
            elif write.entry.event.code != CONFLICT:
                claim_status.must_not_try(write.before, write.sent, what=what, serial=serial)


@case("STAT-006", Level.SHOULD)
def test_stat_006_not_fatal(dra_bench: Bench) -> None:
    """a failing status write does not stop Prepare for ever"""
    device = dra_bench.devices(1)[0]
    claim = dra_bench.claim([device])
    with statuses.refused_writes(dra_bench, CONFLICT, times=CONFLICTS):
        reply = retried(dra_bench.prepare, claim)
    what = f"{TRIES} tries of Prepare, while {CONFLICTS} status writes are answered {CONFLICT}"
    prepare.must_succeed(reply, claim.uid, what=what)
    dra_bench.unprepare(claim)
    claim = dra_bench.claim([device])
    with statuses.refused_writes(dra_bench, FORBIDDEN):
        reply = retried(dra_bench.prepare, claim)
    what = f"{TRIES} tries of Prepare, while every status write is answered {FORBIDDEN}"
    prepare.error_must_name(reply, claim.uid, names={"failing write": ("status",)}, what=what)


@case("STAT-007", Level.SHOULD)
def test_stat_007_released(dra_bench: Bench) -> None:
    """status is cleaned when the claim is released"""
    device, driver = statuses.device_told_ready(dra_bench), dra_bench.driver
    if device is None:
        raise NotApplicable("no device of a prepared claim has the condition Ready=True")
    since = len(dra_bench.timeline)
    claim = dra_bench.claim([device])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")

    def ready() -> bool:
        now = statuses.now_of(dra_bench, claim, since=since)
        return "True" in claim_status.ready_of(now, driver).values()

    if not statuses.wait_for(dra_bench, ready):
        raise Blocked(statuses.SIGN)
    prepare.must_succeed(dra_bench.unprepare(claim), claim.uid, what="Unprepare")
    statuses.wait_for(dra_bench, lambda: not ready())
    left = claim_status.ready_of(statuses.now_of(dra_bench, claim, since=since), driver)
    limit_s = dra_bench.within(statuses.WRITTEN_S)
    claim_status.must_not_be_ready(left, within_s=limit_s, what="a released claim")

"""PREP: what fails, is given up or takes long, and what comes after it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench.calls import RETRY_PAUSE_S
from pytest_dra.bench.calls import TRIES
from pytest_dra.bench.calls import abandon_prepare
from pytest_dra.bench.calls import calls_with_claims
from pytest_dra.bench.calls import retried
from pytest_dra.bench.calls import wait_for_rest
from pytest_dra.bench.devices import NO_SUCH_DEVICE
from pytest_dra.bench.devices import no_such
from pytest_dra.bench.obstacles import failing_reads
from pytest_dra.bench.obstacles import held_reads
from pytest_dra.bench.obstacles import unwritable_cdi
from pytest_dra.cases import case
from pytest_dra.checks import latency
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.waiting import pause
from pytest_dra.wire.answers import NodeReply

SERIALISED_S = 0.5
"""An Unprepare that is not answered in this time waits for the Prepare before it (V15)."""

SPECS = "cdi/"
"""Where a claim's specs lie in the bench's tree."""

CALLS = 3
"""Calls that a judgement of latency needs (the catalogue's field ``traffic``)."""


@case("PREP-013", Level.SHOULD)
def test_prep_013_nothing_behind(dra_bench: Bench) -> None:
    """a failed Prepare leaves nothing behind"""
    device = dra_bench.devices(1)[0]
    before = dra_bench.instance.tree()
    failed = dra_bench.claim([device])
    with unwritable_cdi(dra_bench):
        reply = dra_bench.prepare(failed)
    if not reply.error_for(failed.uid):
        raise NotApplicable("Prepare writes nothing to the CDI directory and cannot fail there")
    left = {path for path in dra_bench.residue_of(failed, before) if path.startswith(SPECS)}
    state.nothing_may_be_left(left, expected=(), what=str(failed), after="a failed Prepare")
    what = "another claim failed on it for want of the CDI directory"
    successor = dra_bench.claim([device])
    reply = dra_bench.prepare(successor)
    prepare.must_succeed(reply, successor.uid, what=f"Prepare on a device after {what}")


@case("PREP-014", Level.MUST)
def test_prep_014_repeated(dra_bench: Bench) -> None:
    """a failed Prepare can simply be repeated"""
    device = dra_bench.devices(1)[0]
    claim = dra_bench.claim([device])
    with failing_reads(dra_bench):
        dra_bench.prepare(claim)
    _must_work_again(dra_bench, claim, after="the claim could not be read")
    claim = dra_bench.claim([device])
    with unwritable_cdi(dra_bench):
        dra_bench.prepare(claim)
    _must_work_again(dra_bench, claim, after="the CDI directory could not be written")
    claim = dra_bench.claim([device])
    with held_reads(dra_bench) as held:
        abandon_prepare(dra_bench, claim, held)
    _must_work_again(dra_bench, claim, after="the caller of the first one has gone away")


def _must_work_again(bench: Bench, claim: Claim, *, after: str) -> None:
    what = f"repeated Prepare after {after}"
    reply = retried(bench.prepare, claim)
    prepare.must_succeed(reply, claim.uid, what=what)
    allocated = claim.pairs(bench.driver)
    prepare.only_these_devices(reply, claim.uid, allocated=allocated, what=what)
    bench.ids_must_resolve(reply, claim, what=what)
    bench.unprepare(claim)


@case("PREP-016", Level.MUST, apart_s=1.5)
def test_prep_016_abandoned(dra_bench: Bench) -> None:
    """an abandoned Prepare does not act after Unprepare"""
    device = dra_bench.devices(1)[0]
    expected = dra_bench.plain_cycle().residue
    before = dra_bench.instance.tree()
    claim = dra_bench.claim([device])
    with ThreadPoolExecutor(1) as pool:
        with held_reads(dra_bench) as held:
            abandon_prepare(dra_bench, claim, held)
            releasing = pool.submit(dra_bench.unprepare, claim)
            wait([releasing], timeout=SERIALISED_S)
        reply = releasing.result()
    what = "a claim whose Prepare was abandoned"
    if reply.error_for(claim.uid):
        pause(RETRY_PAUSE_S)
        reply = retried(dra_bench.unprepare, claim, tries=TRIES - 1)
    prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")
    wait_for_rest(dra_bench)
    left = dra_bench.residue_of(claim, before)
    state.nothing_may_be_left(left, expected=expected, what=what)
    successor = dra_bench.claim([device])
    reply = dra_bench.prepare(successor)
    prepare.must_succeed(reply, successor.uid, what=f"Prepare on the device of {what}")


@case("PREP-021", Level.MAY)
def test_prep_021_error_texts(dra_bench: Bench) -> None:
    """error texts name claim and device"""
    device = dra_bench.devices(1)[0]
    unknown = dra_bench.claim([no_such(device.pool)])
    reply = dra_bench.prepare(unknown)
    names = {"device": (NO_SUCH_DEVICE,), **_claim_to_name(unknown, reply)}
    what = f"Prepare of a claim on device {NO_SUCH_DEVICE!r}"
    prepare.error_must_name(reply, unknown.uid, names=names, what=what)
    dra_bench.unprepare(unknown)
    holder, second = dra_bench.claim([device]), dra_bench.claim([device])
    dra_bench.prepare(holder)
    reply = dra_bench.prepare(second)
    what = f"Prepare of a second claim on device {device.name!r}"
    names = _claim_to_name(second, reply)
    prepare.error_must_name(reply, second.uid, names=names, what=what)


def _claim_to_name(claim: Claim, reply: NodeReply) -> dict[str, tuple[str, ...]]:
    """What the error of the whole call must name; to that of a claim the kubelet adds its name."""
    return {} if reply.ok else {"claim": (claim.name, claim.uid)}


@case("PREP-015", Level.SHOULD)
def test_prep_015_latency(dra_bench: Bench) -> None:
    """Prepare stays well below the call timeout"""
    device = dra_bench.devices(1)[0]
    for _ in range(CALLS - len(calls_with_claims(dra_bench, prepare.PREPARE))):
        claim = dra_bench.claim([device])
        dra_bench.prepare(claim)
        dra_bench.unprepare(claim)
    calls = calls_with_claims(dra_bench, prepare.PREPARE)
    budget_s = dra_bench.profile.budgets.prepare
    latency.calls_must_be_short(calls, within_s=budget_s, budget="prepare")
    dra_bench.warnings.add(latency.slow(calls, above_s=latency.SLOW_S))

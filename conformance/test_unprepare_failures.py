"""UNP: Unprepare after and during trouble, and how long it takes."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench.calls import abandon_prepare
from pytest_dra.bench.calls import calls_with_claims
from pytest_dra.bench.calls import retried
from pytest_dra.bench.calls import wait_for_rest
from pytest_dra.bench.obstacles import held_reads
from pytest_dra.bench.obstacles import unreachable_api
from pytest_dra.bench.obstacles import unwritable_cdi
from pytest_dra.bench.residue import Tree
from pytest_dra.bench.statefiles import StateFiles
from pytest_dra.bench.statefiles import damage
from pytest_dra.cases import case
from pytest_dra.checks import latency
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause

CALLS = 3
"""Calls that a judgement of latency needs (the catalogue's field ``traffic``)."""

REGISTERED_S = 60.0
"""Deadline for a driver with damaged state to register."""

LOST_S = 120.0
LOST_EVERY_S = 2.0
"""How long and how often a device of a lost claim is asked for after a restart."""


@case("UNP-007", Level.MUST)
def test_unp_007_failed_cleanup(dra_bench: Bench) -> None:
    """a failed cleanup is reported and can be completed"""
    device = dra_bench.devices(1)[0]
    before = dra_bench.instance.tree()
    claim = dra_bench.claim([device])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    with unwritable_cdi(dra_bench):
        reply = dra_bench.unprepare(claim)
    if not reply.error_for(claim.uid):
        what = f"{claim}, answered with OK while the CDI directory could not be written"
        expected = dra_bench.plain_cycle().residue
        state.nothing_may_be_left(dra_bench.residue_of(claim, before), expected=expected, what=what)
    _must_be_released(dra_bench, claim, device, before, what="a claim after a failed Unprepare")


@case("UNP-008", Level.MUST, apart_s=1)
def test_unp_008_failed_prepare(dra_bench: Bench) -> None:
    """Unprepare cleans up after a failed Prepare"""
    device = dra_bench.devices(1)[0]
    before = dra_bench.instance.tree()
    claim = dra_bench.claim([device])
    with unwritable_cdi(dra_bench):
        dra_bench.prepare(claim)
    what = "a claim whose Prepare could not write the CDI directory"
    _must_be_released(dra_bench, claim, device, before, what=what)
    before = dra_bench.instance.tree()
    claim = dra_bench.claim([device])
    with held_reads(dra_bench) as held:
        abandon_prepare(dra_bench, claim, held)
    wait_for_rest(dra_bench)
    what = "a claim whose Prepare was cut off"
    _must_be_released(dra_bench, claim, device, before, what=what)


def _must_be_released(
    bench: Bench, claim: Claim, device: Device, before: Tree, *, what: str
) -> None:
    reply = bench.unprepare(claim)
    prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")
    expected = bench.plain_cycle().residue
    state.nothing_may_be_left(bench.residue_of(claim, before), expected=expected, what=what)
    successor = bench.claim([device])
    reply = bench.prepare(successor)
    prepare.must_succeed(reply, successor.uid, what=f"Prepare on the device of {what}")
    bench.unprepare(successor)


@case("UNP-010", Level.SHOULD)
def test_unp_010_damaged_state(dra_bench: Bench) -> None:
    """damaged state does not block Unprepare for ever"""
    instance = dra_bench.instance
    claim = dra_bench.claim(dra_bench.devices(1))
    files = StateFiles(dra_bench)
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    changed = files.now()
    if not changed:
        raise NotApplicable("Prepare changes no file below the driver's data directory")
    dra_bench.spoiled("damaged files of state")
    with dra_bench.timeline.disturbance("damaged files of state"):
        instance.end()
        names = damage(changed)
        instance.start_again()
        dra_bench.forget()
        instance.plugin(within_s=REGISTERED_S)
        reply = retried(dra_bench.unprepare, claim, unless=lambda: instance.over)
    state.damage_must_not_block(
        reply.error_for(claim.uid),
        output=instance.driver.log_tail() if instance.over else "",
        files=names,
    )


@case("UNP-011", Level.SHOULD)
def test_unp_011_no_api_server(dra_bench: Bench) -> None:
    """Unprepare needs no API server"""
    before = dra_bench.instance.tree()
    claim = dra_bench.claim(dra_bench.devices(1))
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    with unreachable_api(dra_bench):
        reply = dra_bench.unprepare(claim)
    what = "a claim while the API server is unreachable"
    prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")
    expected = dra_bench.plain_cycle().residue
    state.nothing_may_be_left(dra_bench.residue_of(claim, before), expected=expected, what=what)


@case("UNP-012", Level.SHOULD, apart_s=1)
def test_unp_012_lost_claim(dra_bench: Bench) -> None:
    """claims that were never unprepared do not lock devices for ever"""
    instance = dra_bench.instance
    device = dra_bench.devices(1)[0]
    lost, successor = dra_bench.claim([device]), dra_bench.claim([device])
    # Not by the bench, which would unprepare it at the end as a kubelet with its checkpoint does.
    prepare.must_succeed(instance.prepare([lost]), lost.uid, what="Prepare")
    dra_bench.claims.delete(lost)
    reply = dra_bench.prepare(successor)
    if reply.error_for(successor.uid):
        with dra_bench.timeline.disturbance("restarted driver"):
            instance.end()
            instance.start_again()
            dra_bench.forget()
            instance.plugin()
            reply = dra_bench.prepare(successor)
            deadline = Deadline.after(LOST_S)
            while reply.error_for(successor.uid) and not deadline.passed and not instance.over:
                pause(LOST_EVERY_S)
                reply = dra_bench.prepare(successor)
    what = "Prepare on the device of a claim that has disappeared, after a restart of the driver"
    prepare.must_succeed(reply, successor.uid, what=what)
    dra_bench.unprepare(successor)
    instance.unprepare([lost])


@case("UNP-013", Level.SHOULD)
def test_unp_013_latency(dra_bench: Bench) -> None:
    """Unprepare stays well below the call timeout"""
    device = dra_bench.devices(1)[0]
    for _ in range(CALLS - len(calls_with_claims(dra_bench, prepare.UNPREPARE))):
        claim = dra_bench.claim([device])
        dra_bench.prepare(claim)
        dra_bench.unprepare(claim)
    calls = calls_with_claims(dra_bench, prepare.UNPREPARE)
    budget_s = dra_bench.profile.budgets.unprepare
    latency.calls_must_be_short(calls, within_s=budget_s, budget="unprepare")
    dra_bench.warnings.add(latency.slow(calls, above_s=latency.SLOW_S))

"""ROB: an API server in trouble, a disk that takes nothing, devices that come and go."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import comeback
from pytest_dra.bench.calls import retried
from pytest_dra.bench.calls import wait_until_asked
from pytest_dra.bench.cycle import residue_of_all
from pytest_dra.bench.cycle import run_in
from pytest_dra.bench.obstacles import failing_reads
from pytest_dra.bench.obstacles import held_reads
from pytest_dra.bench.obstacles import unwritable_data
from pytest_dra.bench.plugging import Plugging
from pytest_dra.bench.statefiles import StateFiles
from pytest_dra.cases import case
from pytest_dra.checks import plugging
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.wire.answers import NodeReply

SLOW_S = 0.5
SOAK_SLOW_S = 10.0
"""How long the API server does not answer."""

HEALED_S = 10.0
"""Deadline of a call once the API server answers again."""


@case("ROB-006", Level.MUST, apart_s=1)
def test_rob_006_api_trouble(dra_bench: Bench) -> None:
    """API trouble during Prepare ends in an answer"""
    slow_s = dra_bench.setup.soak.either(SLOW_S, SOAK_SLOW_S)
    devices = dra_bench.up_to(3)
    claims = [dra_bench.claim([device]) for device in devices]
    with ThreadPoolExecutor(1) as pool:
        with held_reads(dra_bench) as held:
            call = pool.submit(dra_bench.prepare, claims[0])
            wait_until_asked(call, held)
            wait([call], timeout=slow_s)
        what = f"Prepare while the API server does not answer for {slow_s:g} s"
        prepare.must_be_answered(call.result(), what=what)
    with failing_reads(dra_bench, times=None):
        reply = dra_bench.prepare(claims[-1])
    prepare.must_be_answered(reply, what="Prepare while the API server answers 500")
    with dra_bench.timeline.disturbance("after the trouble"):
        for claim in claims:
            reply = _prepared_again(dra_bench, claim)
            what = "Prepare once the API server answers again"
            prepare.must_succeed(reply, claim.uid, what=what)
            dra_bench.ids_must_resolve(reply, claim, what=what)
            dra_bench.unprepare(claim)


def _prepared_again(bench: Bench, claim: Claim) -> NodeReply:
    call = functools.partial(bench.prepare, timeout_s=HEALED_S)
    return retried(call, claim, tries=2, unless=lambda: bench.instance.over)


@case("ROB-008", Level.SHOULD, apart_s=1)
def test_rob_008_no_disk(dra_bench: Bench) -> None:
    """a full or read-only disk is survived"""
    dra_bench.devices(2)
    devices = dra_bench.every_device()[:3]
    run_in(dra_bench, devices)
    before, files = dra_bench.instance.tree(), StateFiles(dra_bench)
    *known, failing = (dra_bench.claim([device]) for device in devices)
    replies = [dra_bench.prepare(claim) for claim in known]
    for claim, reply in zip(known, replies, strict=True):
        prepare.must_succeed(reply, claim.uid, what="Prepare")
    if not files.now():
        raise NotApplicable("Prepare changes no file below the driver's data directory")
    with unwritable_data(dra_bench):
        dra_bench.prepare(failing)
    with dra_bench.timeline.disturbance("after the trouble"):
        after = "after a time in which the data directory could not be written"
        reply = _prepared_again(dra_bench, failing)
        prepare.must_succeed(reply, failing.uid, what=f"Prepare {after}")
        again = dra_bench.prepare(known[0])
        what = f"repeated Prepare {after}"
        prepare.must_be_the_same(replies[0], again, known[0].uid, what=what)
        before |= comeback.restart(dra_bench)
        for claim in (*known, failing):
            reply = dra_bench.unprepare(claim)
            what = f"Unprepare and a restart {after}"
            prepare.must_succeed(reply, claim.uid, what=what)
    left = residue_of_all([*known, failing], dra_bench.instance.tree(), before)
    expected = dra_bench.plain_cycle().residue
    state.nothing_may_be_left(left, expected=expected, what=f"claims {after}")


@case("ROB-010", Level.SHOULD, apart_s=1)
def test_rob_010_hotplug(dra_bench: Bench) -> None:
    """devices that come and go are followed"""
    dra_bench.devices(1)
    plugged = Plugging(dra_bench)
    claims = plugged.claims()
    for claim in claims:
        prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    with plugged:
        gone = plugged.removed()
        plugging.one_must_be_gone(gone, within_s=plugged.limit_s)
        plugging.names_must_stay(plugged.first, plugged.now(), during="removing a device")
        for claim in claims:
            reply = dra_bench.unprepare(claim)
            held = claim.pairs(dra_bench.driver) & gone
            what = "a claim whose device was removed" if held else "a claim"
            prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")
    back = plugged.returned(gone)
    plugging.all_must_be_back(gone - back, within_s=plugged.limit_s)
    plugging.names_must_stay(plugged.first, plugged.now(), during="adding it again")
    for device in plugged.devices(gone)[:1]:
        successor = dra_bench.claim([device])
        reply = dra_bench.prepare(successor)
        what = f"Prepare on {device.name}, which was removed and added again"
        prepare.must_succeed(reply, successor.uid, what=what)

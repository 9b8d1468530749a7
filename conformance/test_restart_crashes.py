"""RST: crashes in the middle of a call."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import comeback
from pytest_dra.bench.crashpoint import CrashPoint
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level

POINTS = 5
"""Writes of each call at which the driver is killed."""


@case("RST-005", Level.MUST, apart=True)
def test_rst_005_any_point(dra_bench: Bench) -> None:
    """a crash at any point is repaired by the next call"""
    for method in (prepare.PREPARE, prepare.UNPREPARE):
        for number in range(1, POINTS + 1):
            if not _is_repaired(dra_bench, method, number):
                break


def _is_repaired(bench: Bench, method: str, number: int) -> bool:
    """Crash at one write of one call; False if the call makes fewer writes.

    At odd ones the next call is Prepare, at even ones Unprepare: a kubelet may come with either.
    """
    device = bench.devices(1)[0]
    before = bench.instance.tree()
    claim = bench.claim([device])
    what = f"a crash at write {number} of {method}"
    call = bench.prepare
    if method == prepare.UNPREPARE:
        prepare.must_succeed(bench.prepare(claim), claim.uid, what="Prepare")
        call = bench.unprepare
    with bench.timeline.disturbance(what):
        point = CrashPoint(bench.instance)
        if not point.strike(number, lambda: call(claim)):
            bench.unprepare(claim)
            return False
        before |= comeback.start_again(bench, after=what)
        if number % 2:
            reply = bench.prepare(claim)
            prepare.must_succeed(reply, claim.uid, what=f"Prepare after {what}")
            bench.ids_must_resolve(reply, claim, what=f"a claim after {what}")
        reply = bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare after {what}")
        left = state.apart_from_unfinished(bench.residue_of(claim, before))
        state.nothing_may_be_left(
            left, expected=bench.plain_cycle().residue, what=f"a claim after {what}"
        )
        successor = bench.claim([device])
        reply = bench.prepare(successor)
        prepare.must_succeed(reply, successor.uid, what=f"Prepare on the device after {what}")
        bench.unprepare(successor)
    bench.claims.delete(claim)
    return True

"""IDEM: repetition and order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench.cycle import residue_of_all
from pytest_dra.bench.cycle import run_in
from pytest_dra.bench.obstacles import held_reads
from pytest_dra.cases import case
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from pytest_dra.wire.answers import NodeReply

CYCLES = 3
UNPREPARES = 5

ROUNDS = 20
BOTH = 2
HOLD_S = 0.2
"""The API server answers once both calls have asked it, or after this time."""

SERIALISED = 3
BRIEF_HOLD_S = 0.02
"""After so many rounds in which one call waited for the other (V15) the hold is in vain."""


@case("IDEM-001", Level.MUST)
def test_idem_001_same_answer(dra_bench: Bench) -> None:
    """repeated Prepare gives the same answer"""
    claim = dra_bench.claim(dra_bench.devices(1))
    first = dra_bench.prepare(claim)
    prepare.must_succeed(first, claim.uid, what="Prepare 1")
    for number in range(2, dra_bench.profile.budgets.repeat + 1):
        what = f"Prepare {number} of {dra_bench.profile.budgets.repeat} of one claim"
        again = dra_bench.prepare(claim)
        prepare.must_be_the_same(first, again, claim.uid, what=what)
        dra_bench.ids_must_resolve(again, claim, what=what)


@case("IDEM-002", Level.MUST)
def test_idem_002_no_traces(dra_bench: Bench) -> None:
    """repetition leaves no traces"""
    claim = dra_bench.claim(dra_bench.devices(1))
    first = dra_bench.prepare(claim)
    prepare.must_succeed(first, claim.uid, what="Prepare 1")
    ids = cdi_specs.ids_of(first, claim.uid)
    tree, edits = dra_bench.instance.tree(), cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
    repeat = dra_bench.profile.budgets.repeat
    for _ in range(1, repeat):
        dra_bench.prepare(claim)
    what = f"after {repeat} Prepare calls of one claim"
    cdi_specs.edits_must_be_the_same(
        edits, cdi_specs.edits_of(dra_bench.instance.cdi(), ids), what=f"the claim {what}"
    )
    state.sizes_must_be_the_same(tree.sizes, dra_bench.instance.tree().sizes, what=what)


@case("IDEM-004", Level.MUST)
def test_idem_004_again_after_release(dra_bench: Bench) -> None:
    """a claim can be prepared again after release"""
    claim = dra_bench.claim(dra_bench.devices(1))
    for number in range(1, CYCLES + 1):
        what = f"in cycle {number} of one claim"
        reply = dra_bench.prepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Prepare {what}")
        dra_bench.ids_must_resolve(reply, claim, what=what)
        reply = dra_bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare {what}")


@case("IDEM-005", Level.MUST)
def test_idem_005_unprepare_again(dra_bench: Bench) -> None:
    """repeated Unprepare succeeds"""
    claim = dra_bench.claim(dra_bench.devices(1))
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    for number in range(1, UNPREPARES + 1):
        reply = dra_bench.unprepare(claim)
        what = f"Unprepare {number} of {UNPREPARES} of one claim"
        prepare.must_succeed(reply, claim.uid, what=what)


@case("IDEM-007", Level.MUST)
def test_idem_007_new_allocation(dra_bench: Bench) -> None:
    """a new allocation after release is used"""
    first, second = dra_bench.devices(2)
    claim = dra_bench.claim([first])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    prepare.must_succeed(dra_bench.unprepare(claim), claim.uid, what="Unprepare")
    claim = dra_bench.allocate(dra_bench.claims.deallocate(claim), dra_bench.results([second]))
    reply = dra_bench.prepare(claim)
    what = "a claim with a new allocation after release"
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    prepare.only_these_devices(reply, claim.uid, allocated=claim.pairs(dra_bench.driver), what=what)


@case("IDEM-003", Level.MUST, apart_s=1.5)
def test_idem_003_simultaneous(dra_bench: Bench) -> None:
    """simultaneous Prepares of one claim agree"""
    device = dra_bench.devices(1)[0]
    expected = dra_bench.plain_cycle().residue
    serialised = 0
    for number in range(1, ROUNDS + 1):
        what = f"two simultaneous Prepares of one claim, round {number}"
        before = dra_bench.instance.tree()
        claim = dra_bench.claim([device])
        hold_s = HOLD_S if serialised < SERIALISED else BRIEF_HOLD_S
        replies, both_asked = _two_at_once(dra_bench, claim, hold_s=hold_s)
        serialised += not both_asked
        good = prepare.simultaneous_must_agree(replies, claim.uid, what=what)
        again = dra_bench.prepare(claim)
        prepare.must_be_the_same(good, again, claim.uid, what=f"Prepare after {what}")
        dra_bench.ids_must_resolve(again, claim, what=what)
        reply = dra_bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare after {what}")
        left = dra_bench.residue_of(claim, before)
        state.nothing_may_be_left(left, expected=expected, what=f"a claim after {what}")
        dra_bench.claims.delete(claim)


def _two_at_once(bench: Bench, claim: Claim, *, hold_s: float) -> tuple[list[NodeReply], bool]:
    """Two answers, and whether both calls were under way when the API server answered."""
    with bench.timeline.disturbance("two at once"), ThreadPoolExecutor(BOTH) as pool:
        with held_reads(bench) as held:
            calls = [pool.submit(bench.prepare, claim) for _ in range(BOTH)]
            both = poll(lambda: held.requests >= BOTH, Deadline.after(hold_s))
        return [call.result() for call in calls], bool(both)


@case("IDEM-006", Level.MUST)
def test_idem_006_mixed_batch(dra_bench: Bench) -> None:
    """a batch may mix prepared and new claims"""
    devices, expected = dra_bench.devices(2), dra_bench.plain_cycle().residue
    run_in(dra_bench, devices)
    before = dra_bench.instance.tree()
    old, new = (dra_bench.claim([device]) for device in devices)
    first = dra_bench.prepare(old)
    prepare.must_succeed(first, old.uid, what="Prepare of A")
    both = dra_bench.prepare(old, new)
    what = "Prepare of A, which is prepared, and B, which is new"
    prepare.must_be_the_same(first, both, old.uid, what=f"A in {what}")
    prepare.must_succeed(both, new.uid, what=f"B in {what}")
    dra_bench.ids_must_resolve(both, new, what=f"B in {what}")
    reply = dra_bench.unprepare(old, new)
    for name, claim in (("A", old), ("B", new)):
        prepare.must_succeed(reply, claim.uid, what=f"{name} in Unprepare of A and B")
    left = residue_of_all([old, new], dra_bench.instance.tree(), before)
    state.nothing_may_be_left(left, expected=expected, what="A and B in one call")


@case("IDEM-008", Level.SHOULD)
def test_idem_008_changed_allocation(dra_bench: Bench) -> None:
    """a changed allocation without release is refused"""
    first, second = dra_bench.devices(2)
    claim = dra_bench.claim([first])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    claim = dra_bench.allocate(dra_bench.claims.deallocate(claim), dra_bench.results([second]))
    reply = dra_bench.prepare(claim)
    what = "a prepared claim whose allocation was changed without a release"
    prepare.must_not_serve_the_old(
        reply, claim.uid, new=claim.pairs(dra_bench.driver), what=f"Prepare of {what}"
    )
    if not reply.error_for(claim.uid) and reply.devices_of(claim.uid):
        successor = dra_bench.claim([first])
        reply = dra_bench.prepare(successor)
        text = f"Prepare on the former device of {what}, which was served with the new one"
        prepare.must_succeed(reply, successor.uid, what=text)

"""IDEM: repetition and order."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.cases import case
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level

CYCLES = 3
UNPREPARES = 5


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

"""UNP: NodeUnprepareResources."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench import Wanted
from pytest_dra.cases import case
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level

DEVICES = 8
"""Most devices that are released one by one."""


@case("UNP-001", Level.MUST)
def test_unp_001_every_claim(dra_bench: Bench) -> None:
    """the Unprepare response has an entry for every claim"""
    claim = dra_bench.claim(dra_bench.devices(1))
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    asked = [claim, dra_bench.claims.unknown()]
    reply = dra_bench.unprepare(*asked)
    refs = [each.ref for each in asked]
    prepare.every_claim_must_have_an_entry(reply, refs, method=prepare.UNPREPARE)
    prepare.no_other_claims(reply, refs, method=prepare.UNPREPARE)


@case("UNP-002", Level.MUST)
def test_unp_002_unknown_claim(dra_bench: Bench) -> None:
    """Unprepare of an unknown claim succeeds"""
    claim = dra_bench.claims.unknown()
    reply = dra_bench.unprepare(claim)
    prepare.must_not_fail(reply, claim.uid, what="Unprepare of a claim that was never prepared")


@case("UNP-003", Level.MUST)
def test_unp_003_claim_object_gone(dra_bench: Bench) -> None:
    """Unprepare works after the claim object is gone"""
    device = dra_bench.devices(1)[0]
    expected = dra_bench.plain_cycle().residue
    before = dra_bench.instance.tree()
    claim = dra_bench.claim([device])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    dra_bench.claims.delete(claim)
    what = "a claim whose object is deleted"
    reply = dra_bench.unprepare(claim)
    prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")
    state.nothing_may_be_left(dra_bench.residue_of(claim, before), expected=expected, what=what)
    successor = dra_bench.claim([device])
    reply = dra_bench.prepare(successor)
    prepare.must_succeed(reply, successor.uid, what=f"Prepare on the device after {what}")


@case("UNP-004", Level.MUST)
def test_unp_004_nothing_left(dra_bench: Bench) -> None:
    """Unprepare removes what Prepare made"""
    device = dra_bench.devices(1)[0]
    _cycle(dra_bench, device)
    before = dra_bench.instance.tree()
    claim = _cycle(dra_bench, device)
    left = dra_bench.residue_of(claim, before)
    state.nothing_may_be_left(left, expected=(), what=str(claim))


def _cycle(bench: Bench, device: Device) -> Claim:
    claim = bench.claim([device])
    prepare.must_succeed(bench.prepare(claim), claim.uid, what="Prepare")
    prepare.must_succeed(bench.unprepare(claim), claim.uid, what="Unprepare")
    return claim


@case("UNP-005", Level.MUST)
def test_unp_005_device_free(dra_bench: Bench) -> None:
    """Unprepare frees the device"""
    every = dra_bench.every_device()
    chosen = every if len(every) <= DEVICES else [*every[: DEVICES - 1], every[-1]]
    for device in chosen:
        _cycle(dra_bench, device)
        successor = dra_bench.claim([device])
        reply = dra_bench.prepare(successor)
        what = f"Prepare on device {device.name!r} after another claim released it"
        prepare.must_succeed(reply, successor.uid, what=what)
        dra_bench.unprepare(successor)


@case("UNP-006", Level.MUST)
def test_unp_006_other_claims(dra_bench: Bench) -> None:
    """Unprepare leaves other claims alone"""
    one, other = (dra_bench.claim([device]) for device in dra_bench.devices(2))
    prepare.must_succeed(dra_bench.prepare(one), one.uid, what="Prepare of A")
    first = dra_bench.prepare(other)
    prepare.must_succeed(first, other.uid, what="Prepare of B")
    ids = cdi_specs.ids_of(first, other.uid)
    edits = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
    prepare.must_succeed(dra_bench.unprepare(one), one.uid, what="Unprepare of A")
    now = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
    what = "B after Unprepare of A"
    cdi_specs.edits_must_be_the_same(edits, now, what=what)
    prepare.must_be_the_same(first, dra_bench.prepare(other), other.uid, what=f"Prepare of {what}")


@case("UNP-009", Level.MUST)
def test_unp_009_keyed_by_uid(dra_bench: Bench) -> None:
    """state is keyed by UID"""
    old_device, new_device = dra_bench.devices(2)
    for old_first in (False, True):
        old = dra_bench.claim([old_device])
        prepare.must_succeed(dra_bench.prepare(old), old.uid, what="Prepare of the old claim")
        dra_bench.claims.delete(old)
        new = dra_bench.claims.create(
            [Wanted(request="req-0", devices=(new_device,))], name=old.name
        )
        new = dra_bench.allocate(new, dra_bench.results([new_device]))
        if old_first:
            _release_old(dra_bench, old)
        first = dra_bench.prepare(new)
        prepare.must_succeed(first, new.uid, what="Prepare of a new claim of the same name")
        if not old_first:
            ids = cdi_specs.ids_of(first, new.uid)
            edits = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
            _release_old(dra_bench, old)
            now = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
            what = "the new claim after Unprepare of the old uid"
            cdi_specs.edits_must_be_the_same(edits, now, what=what)
        again = dra_bench.prepare(new)
        prepare.must_be_the_same(first, again, new.uid, what="repeated Prepare of the new claim")
        dra_bench.unprepare(new)
        dra_bench.claims.delete(new)


def _release_old(bench: Bench, old: Claim) -> None:
    reply = bench.unprepare(old)
    prepare.must_succeed(reply, old.uid, what="Unprepare of the old uid")

"""TAINT: taints of published devices."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Wanted
from pytest_dra.bench.ailing import ailing
from pytest_dra.bench.ailing import as_published
from pytest_dra.bench.ailing import let_time_pass
from pytest_dra.bench.ailing import pair_of
from pytest_dra.bench.ailing import tainted
from pytest_dra.bench.ailing import updates_of
from pytest_dra.bench.ailing import wait_for
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks import taints
from pytest_dra.checks.taints import NOTICED_S
from pytest_dra.spec import Level

ONCE = 1
"""One needless update may have had a reason."""


@case("TAINT-001", Level.MUST, settles=True)
def test_taint_001_legal(dra_bench: Bench) -> None:
    """taints are legal"""
    dra_bench.inspecting.must_pass("TAINT-001")


@case("TAINT-002", Level.SHOULD, settles=True)
def test_taint_002_domain(dra_bench: Bench) -> None:
    """taint keys carry a domain of the driver"""
    dra_bench.inspecting.must_pass("TAINT-002")


@case("TAINT-003", Level.SHOULD)
def test_taint_003_stays_published(dra_bench: Bench) -> None:
    """a tainted device stays published"""
    dra_bench.wait_published()
    device, limit = dra_bench.devices(1)[0], dra_bench.within(NOTICED_S)
    with ailing(dra_bench, device):
        found = wait_for(dra_bench, device, lambda found: bool(found and found.get("taints")))
        taints.must_be_tainted(found, device=device.name, within_s=limit)
    found = wait_for(dra_bench, device, lambda found: bool(found and not found.get("taints")))
    taints.must_be_as_before(found, device.spec, device=device.name, within_s=limit)


@case("TAINT-004", Level.SHOULD)
def test_taint_004_time_kept(dra_bench: Bench) -> None:
    """timeAdded is kept"""
    dra_bench.wait_published()
    device, other = pair_of(dra_bench)
    with ailing(dra_bench, device):
        before = tainted(dra_bench, device)
        let_time_pass(before)
        with ailing(dra_bench, other):
            tainted(dra_bench, other)
            after = f"device {other.name!r} has become faulty as well"
            now = as_published(dra_bench, device)
            taints.times_must_stay(before, now, device=device.name, after=after)
        now = as_published(dra_bench, device)
        after = f"device {other.name!r} has been healed"
        taints.times_must_stay(before, now, device=device.name, after=after)
    changes = updates_of(dra_bench)
    taints.times_must_not_be_all_that_changes(changes, most=ONCE)


@case("TAINT-005", Level.MUST)
def test_taint_005_release(dra_bench: Bench) -> None:
    """claims on a tainted device can be released"""
    device = dra_bench.devices(1)[0]
    claim = dra_bench.claim([device])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    with ailing(dra_bench, device):
        tainted(dra_bench, device)
        reply = dra_bench.unprepare(claim)
        what = f"Unprepare of a claim whose device {device.name!r} is tainted"
        prepare.must_succeed(reply, claim.uid, what=what)


@case("TAINT-006", Level.SHOULD)
def test_taint_006_tolerated(dra_bench: Bench) -> None:
    """a tolerated taint does not prevent Prepare"""
    device = dra_bench.devices(1)[0]
    with ailing(dra_bench, device):
        found = tainted(dra_bench, device)
        claim = dra_bench.claims.create([Wanted(request="req-0", devices=(device,))])
        [result] = dra_bench.results([device])
        tolerations = [
            {"key": taint["key"], "operator": "Exists", "effect": taint["effect"]}
            for taint in found["taints"]
        ]
        claim = dra_bench.allocate(claim, [{**result, "tolerations": tolerations}])
        reply = dra_bench.prepare(claim)
        what = f"Prepare of a claim that tolerates the taint of device {device.name!r}"
        prepare.must_succeed(reply, claim.uid, what=what)
        dra_bench.unprepare(claim)


@case("TAINT-007", Level.MAY, settles=True)
def test_taint_007_informational(dra_bench: Bench) -> None:
    """informational taints have effect None"""
    dra_bench.inspecting.must_pass("TAINT-007")

"""ADM: access for administrators to devices that others may use."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench import Wanted
from pytest_dra.cases import case
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import prepare
from pytest_dra.checks import privileges
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable

RESOLVES = "CDI-002"
"""The case that says that ids resolve."""

RESULTS_MAX = 32
"""Most results that one claim can hold (contract 1.5)."""


@case("ADM-001", Level.MUST)
def test_adm_001_in_use(dra_bench: Bench) -> None:
    """admin access to a device in use is prepared"""
    device = dra_bench.devices(1)[0]
    user, admin = dra_bench.claim([device]), _admin_claim(dra_bench, device)
    prepare.must_succeed(dra_bench.prepare(user), user.uid, what="Prepare of a claim")
    what = f"an admin claim on device {device.name!r}, which another claim uses"
    prepare.must_succeed(dra_bench.prepare(admin), admin.uid, what=f"Prepare of {what}")


@case("ADM-002", Level.MUST)
def test_adm_002_release(dra_bench: Bench) -> None:
    """releasing admin access leaves the user alone"""
    device = dra_bench.devices(1)[0]
    user, admin = dra_bench.claim([device]), _admin_claim(dra_bench, device)
    first = dra_bench.prepare(user)
    prepare.must_succeed(first, user.uid, what="Prepare of a claim")
    ids = cdi_specs.ids_of(first, user.uid)
    edits = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
    what = f"an admin claim on device {device.name!r}, which another claim uses"
    prepare.must_succeed(dra_bench.prepare(admin), admin.uid, what=f"Prepare of {what}")
    prepare.must_succeed(dra_bench.unprepare(admin), admin.uid, what=f"Unprepare of {what}")
    what = "the claim that uses the device, after Unprepare of the admin claim"
    now = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
    cdi_specs.edits_must_be_the_same(edits, now, what=what)
    prepare.must_be_the_same(first, dra_bench.prepare(user), user.uid, what=f"Prepare of {what}")


@case("ADM-003", Level.MUST)
def test_adm_003_not_occupied(dra_bench: Bench) -> None:
    """an admin claim does not occupy the device"""
    device = dra_bench.devices(1)[0]
    admin, user = _admin_claim(dra_bench, device), dra_bench.claim([device])
    prepare.must_succeed(dra_bench.prepare(admin), admin.uid, what="Prepare of an admin claim")
    what = f"a claim on device {device.name!r}, which only an admin claim uses"
    prepare.must_succeed(dra_bench.prepare(user), user.uid, what=f"Prepare of {what}")


@case("ADM-004", Level.MUST)
def test_adm_004_privileges(dra_bench: Bench) -> None:
    """privileges go with adminAccess results only"""
    device = dra_bench.devices(1)[0]
    marker = dra_bench.profile.injection.privileged
    what = "a claim without adminAccess"
    edits = _edits(dra_bench, dra_bench.claim([device]), what=what)
    privileges.must_not_be_privileged(edits, marker=marker, what=what)
    what = "an admin claim"
    edits = _edits(dra_bench, _admin_claim(dra_bench, device), what=what)
    privileges.must_be_privileged(edits, marker=marker, what=what)
    what = "a claim without adminAccess in a namespace that may have it"
    claim = dra_bench.claim([device], namespace=dra_bench.claims.admin_namespace)
    edits = _edits(dra_bench, claim, what=what)
    privileges.must_not_be_privileged(edits, marker=marker, what=what)


@case("ADM-005", Level.SHOULD)
def test_adm_005_all_devices(dra_bench: Bench) -> None:
    """admin access to all devices returns all"""
    every = tuple(dra_bench.every_device()[:RESULTS_MAX])
    claim = dra_bench.claim_for([Wanted(request="all", devices=every, mode="All", admin=True)])
    reply = dra_bench.prepare(claim)
    what = f"an admin claim with allocationMode All, {len(every)} devices"
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    allocated = claim.pairs(dra_bench.driver)
    prepare.devices_must_be_all(reply, claim.uid, allocated=allocated, what=what)


def _admin_claim(bench: Bench, device: Device) -> Claim:
    return bench.claim_for([Wanted(request="req-0", devices=(device,), admin=True)])


def _edits(bench: Bench, claim: Claim, *, what: str) -> Json:
    """What a claim would do to a container; it is released again."""
    reply = bench.prepare(claim)
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    ids = cdi_specs.ids_of(reply, claim.uid)
    if not ids:
        raise NotApplicable("the answers have no CDI ids, so that no edits are seen")
    edits = cdi_specs.edits_of(bench.instance.cdi(), ids)
    bench.unprepare(claim)
    if edits is None:
        raise Blocked(RESOLVES)
    return edits

"""CAP: capacity that several claims share."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench.sharing import again_after_deletion
from pytest_dra.bench.sharing import are_told
from pytest_dra.bench.sharing import claim_with
from pytest_dra.bench.sharing import exclusive
from pytest_dra.bench.sharing import observed_share
from pytest_dra.bench.sharing import share
from pytest_dra.bench.sharing import shared_device
from pytest_dra.cases import case
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.checks.settings import must_differ
from pytest_dra.checks.shares import consumed_must_be_enforced
from pytest_dra.checks.shares import ids_must_be_repeated
from pytest_dra.checks.shares import must_be_apart
from pytest_dra.checks.shares import policy_must_stay
from pytest_dra.checks.shares import rounded
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable

BOTH = 2

MOST = 60
"""Hundredths of a device, of which two shares are too much."""


@case("CAP-001", Level.MUST, settles=True)
def test_cap_001_request_policies(dra_bench: Bench) -> None:
    """request policies are consistent"""
    dra_bench.inspecting.must_pass("CAP-001")


@case("CAP-002", Level.MUST)
def test_cap_002_two_shares(dra_bench: Bench) -> None:
    """two shares of one device can be prepared"""
    device = shared_device(dra_bench)
    for name, claim in zip("AB", _two(dra_bench, device), strict=True):
        what = f"{name}, one of two shares of device {device.name!r}"
        reply = dra_bench.prepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
        dra_bench.ids_must_resolve(reply, claim, what=what)


@case("CAP-003", Level.MUST)
def test_cap_003_release_of_one(dra_bench: Bench) -> None:
    """releasing one share keeps the other"""
    one, other = _two(dra_bench, shared_device(dra_bench))
    prepare.must_succeed(dra_bench.prepare(one), one.uid, what="Prepare of share A")
    first = dra_bench.prepare(other)
    prepare.must_succeed(first, other.uid, what="Prepare of share B")
    ids = cdi_specs.ids_of(first, other.uid)
    edits = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
    prepare.must_succeed(dra_bench.unprepare(one), one.uid, what="Unprepare of share A")
    what = "share B after Unprepare of share A"
    now = cdi_specs.edits_of(dra_bench.instance.cdi(), ids)
    cdi_specs.edits_must_be_the_same(edits, now, what=what)
    prepare.must_be_the_same(first, dra_bench.prepare(other), other.uid, what=f"Prepare of {what}")


@case("CAP-004", Level.SHOULD)
def test_cap_004_consumed(dra_bench: Bench) -> None:
    """the consumed capacity of the result is enforced"""
    device = shared_device(dra_bench)
    found = rounded(device.spec)
    if found is None:
        raise NotApplicable(f"no capacity of device {device.name!r} is rounded up")
    name, low, between, high = found

    def seen(asked: str, consumed: str) -> str:
        return observed_share(dra_bench, device, asked={name: asked}, consumed={name: consumed})

    wanted = seen(high, high)
    must_differ(
        [seen(low, low), wanted], of="shares", way_out="let it print the amount that a claim has"
    )
    now = seen(between, high)
    consumed_must_be_enforced(now, wanted=wanted, requested=between, what=f"{high} {name}")


@case("CAP-005", Level.MUST)
def test_cap_005_in_one_claim(dra_bench: Bench) -> None:
    """two shares of one device in one claim are kept apart"""
    device, expected = shared_device(dra_bench), dra_bench.plain_cycle().residue
    _run_in(dra_bench, device)
    before = dra_bench.instance.tree()
    results = [share(dra_bench, device, request=request) for request in ("req-0", "req-1")]
    claim = claim_with(dra_bench, device, results)
    reply = dra_bench.prepare(claim)
    what = f"a claim with two shares of device {device.name!r}"
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    shares = [str(result["shareID"]) for result in results]
    must_be_apart(reply, claim.uid, shares=shares, told=are_told(dra_bench), what=what)
    dra_bench.ids_must_resolve(reply, claim, what=what)
    prepare.must_succeed(dra_bench.unprepare(claim), claim.uid, what=f"Unprepare of {what}")
    left = dra_bench.residue_of(claim, before)
    state.nothing_may_be_left(left, expected=expected, what=what)


@case("CAP-006", Level.SHOULD)
def test_cap_006_policy_stays(dra_bench: Bench) -> None:
    """the policy stays while shares are in use"""
    device = shared_device(dra_bench)
    claim = claim_with(dra_bench, device, [share(dra_bench, device)])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare of a share")
    now = again_after_deletion(dra_bench, device)
    what = f"device {device.name!r} while a share of it is prepared"
    policy_must_stay(device.spec, now.spec, what=what)


@case("CAP-007", Level.SHOULD)
def test_cap_007_exclusive(dra_bench: Bench) -> None:
    """a device in exclusive use is not shared later"""
    device = shared_device(dra_bench)
    for exclusive_first in (True, False):
        results = [exclusive(dra_bench, device), share(dra_bench, device)]
        names = ["without share id", "a share"]
        if not exclusive_first:
            results.reverse()
            names.reverse()
        first, second = (claim_with(dra_bench, device, [result]) for result in results)
        reply = dra_bench.prepare(first)
        prepare.must_succeed(reply, first.uid, what=f"Prepare of a claim, {names[0]}")
        what = f"Prepare of a second claim on {device.name!r}, {names[1]}; the first is {names[0]}"
        prepare.must_be_refused(dra_bench.prepare(second), second.uid, what=what)
        dra_bench.unprepare(first)
        dra_bench.unprepare(second)


@case("CAP-008", Level.MAY)
def test_cap_008_overcommitted(dra_bench: Bench) -> None:
    """overcommitted shares are refused"""
    device = shared_device(dra_bench)
    if not device.spec.get("capacity"):
        raise NotApplicable(f"device {device.name!r} has no capacity")
    first, second = (
        claim_with(dra_bench, device, [share(dra_bench, device, hundredths=MOST)])
        for _ in range(BOTH)
    )
    what = f"Prepare of {MOST} % of device {device.name!r}"
    prepare.must_succeed(dra_bench.prepare(first), first.uid, what=what)
    prepare.must_be_refused(dra_bench.prepare(second), second.uid, what=f"{what} once more")


@case("CAP-009", Level.SHOULD)
def test_cap_009_share_id(dra_bench: Bench) -> None:
    """the response repeats the share id"""
    if not are_told(dra_bench):
        raise NotApplicable("the calls of this kubelet and driver have no share ids")
    device = shared_device(dra_bench)
    result = share(dra_bench, device)
    claim = claim_with(dra_bench, device, [result])
    reply = dra_bench.prepare(claim)
    what = f"Prepare of a share of device {device.name!r}"
    prepare.must_succeed(reply, claim.uid, what=what)
    ids_must_be_repeated(reply, claim.uid, shares=[result["shareID"]], what=what)


def _two(bench: Bench, device: Device) -> list[Claim]:
    """Two claims with a share each."""
    return [claim_with(bench, device, [share(bench, device)]) for _ in range(BOTH)]


def _run_in(bench: Bench, device: Device) -> None:
    """What the device's first claim makes for good is no later claim's."""
    claim = claim_with(bench, device, [share(bench, device)])
    bench.prepare(claim)
    bench.unprepare(claim)
    bench.claims.delete(claim)

"""PREP: NodePrepareResources."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench import Wanted
from pytest_dra.bench.claims import decoy
from pytest_dra.bench.claims import result
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.waiting import pause
from pytest_dra.wire.answers import NodeReply

RETRIES = 2
RETRY_PAUSE_S = 2.0
"""A kubelet asks again after a failure too; what works at the third time works."""

BATCH = 8
"""Largest batch: a pod with more claims of one driver is rare."""

ALL_DEVICES = 32
"""Most results that one claim can hold (contract 7.3)."""

NO_SUCH_DEVICE = "no-such-device"


@case("PREP-023", Level.MUST)
def test_prep_023_one_claim(dra_bench: Bench) -> None:
    """a single allocated claim is prepared"""
    instance = dra_bench.instance
    if instance.plugin() is None:
        raise Violation(
            f"registration of {dra_bench.driver}",
            got="the kubelet stand-in has no connection to the driver",
            want=f"registered and connected within {instance.budgets.start:g} s",
        )
    claim = dra_bench.claim(dra_bench.devices(1))
    reply = dra_bench.prepare(claim)
    for _ in range(RETRIES):
        if not reply.error_for(claim.uid) or reply.code == "DEADLINE_EXCEEDED":
            break
        pause(RETRY_PAUSE_S)
        if instance.over:
            break
        reply = dra_bench.prepare(claim)
    prepare.must_succeed(reply, claim.uid, what="Prepare of one claim with one device")
    dra_bench.unprepare(claim)


@case("PREP-001", Level.MUST)
def test_prep_001_every_claim(dra_bench: Bench) -> None:
    """the response has an entry for every claim of the request"""
    for claims, reply in _batches(dra_bench):
        prepare.every_claim_must_have_an_entry(
            reply, [claim.ref for claim in claims], method=prepare.PREPARE
        )


@case("PREP-002", Level.MUST)
def test_prep_002_no_other_claim(dra_bench: Bench) -> None:
    """the response has no claims that were not asked for"""
    for claims, reply in _batches(dra_bench):
        prepare.no_other_claims(reply, [claim.ref for claim in claims], method=prepare.PREPARE)
    first, second = (dra_bench.claim([device]) for device in dra_bench.devices(2))
    dra_bench.prepare(first)
    reply = dra_bench.prepare(second)
    prepare.no_other_claims(reply, [second.ref], method=prepare.PREPARE)


def _batches(bench: Bench) -> list[tuple[list[Claim], NodeReply]]:
    """Batches of 1, 2 and up to 8 claims of one pod, each unprepared claim by claim."""
    devices = bench.devices(2, at_most=BATCH)
    answered = []
    for size in sorted({1, 2, len(devices)}):
        claims = [bench.claim([device]) for device in devices[:size]]
        answered.append((claims, bench.prepare(*claims)))
        for claim in claims:
            bench.unprepare(claim)
    return answered


@case("PREP-003", Level.MUST)
def test_prep_003_named_devices(dra_bench: Bench) -> None:
    """returned devices name an allocated pool and device"""
    for devices in (dra_bench.devices(1), dra_bench.devices(2)):
        claim = dra_bench.claim(devices)
        reply = dra_bench.prepare(claim)
        what = f"a claim with {len(devices)} devices"
        prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
        prepare.devices_must_be_named(
            reply, claim.uid, allocated=claim.pairs(dra_bench.driver), what=what
        )
        dra_bench.unprepare(claim)


@case("PREP-004", Level.MUST)
def test_prep_004_all_devices(dra_bench: Bench) -> None:
    """all allocated devices of the driver are returned"""
    first, second = dra_bench.devices(2)
    every = tuple(dra_bench.every_device()[:ALL_DEVICES])
    forms = {
        "a claim of two devices by count 2": [Wanted(request="both", devices=(first, second))],
        "a claim of two devices by two requests": [
            Wanted(request="one", devices=(first,)),
            Wanted(request="two", devices=(second,)),
        ],
        "a claim with allocationMode All": [Wanted(request="all", devices=every, mode="All")],
    }
    for what, wanted in forms.items():
        claim = dra_bench.claim_for(wanted)
        reply = dra_bench.prepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
        prepare.devices_must_be_all(
            reply, claim.uid, allocated=claim.pairs(dra_bench.driver), what=what
        )
        dra_bench.unprepare(claim)


@case("PREP-005", Level.MUST)
def test_prep_005_request_names(dra_bench: Bench) -> None:
    """request_names holds main request names of the claim"""
    claim = dra_bench.claim(dra_bench.devices(2))
    reply = dra_bench.prepare(claim)
    what = "a claim with two requests"
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    requests: dict[prepare.Pair, list[str]] = {}
    for each in claim.results:
        main = each["request"].split("/")[0]
        requests.setdefault((each["pool"], each["device"]), []).append(main)
    prepare.request_names_must_be_main_requests(reply, claim.uid, requests=requests, what=what)


@case("PREP-006", Level.MUST)
def test_prep_006_foreign_results(dra_bench: Bench) -> None:
    """results of other drivers in a claim are ignored"""
    device = dra_bench.devices(1)[0]
    for own_first in (True, False):
        wanted = [Wanted(request="own", devices=(device,)), Wanted(request="decoy", devices=())]
        claim = dra_bench.claims.create(wanted)
        results = [result("own", device, driver=dra_bench.driver), decoy("decoy")]
        claim = dra_bench.allocate(claim, results if own_first else results[::-1])
        reply = dra_bench.prepare(claim)
        order = "after" if own_first else "before"
        what = f"a claim with a result of another driver {order} the own one"
        prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
        prepare.only_these_devices(
            reply, claim.uid, allocated=claim.pairs(dra_bench.driver), what=what
        )
        dra_bench.unprepare(claim)


@case("PREP-007", Level.MUST)
def test_prep_007_unknown_device(dra_bench: Bench) -> None:
    """a device that does not exist is refused"""
    before = dra_bench.instance.tree()
    claim = _claim_on_unknown_device(dra_bench)
    reply = dra_bench.prepare(claim)
    what = f"Prepare of a claim on device {NO_SUCH_DEVICE!r}"
    prepare.must_be_refused(reply, claim.uid, what=what)
    reply = dra_bench.unprepare(claim)
    prepare.must_not_fail(reply, claim.uid, what=f"Unprepare after refused {what}")
    left = dra_bench.residue_of(claim, before)
    state.nothing_may_be_left(
        left, expected=dra_bench.plain_cycle().residue, what="the refused claim"
    )


def _claim_on_unknown_device(bench: Bench) -> Claim:
    pool = bench.devices(1)[0].pool
    unknown = Device(pool=pool, name=NO_SUCH_DEVICE, spec={})
    return bench.claim([unknown])


@case("PREP-010", Level.MUST)
def test_prep_010_unallocated(dra_bench: Bench) -> None:
    """a claim without allocation is refused"""
    device = dra_bench.devices(1)[0]
    claim = dra_bench.claims.create([Wanted(request="req-0", devices=(device,))])
    reply = dra_bench.prepare(claim)
    prepare.must_be_refused(reply, claim.uid, what="Prepare of a claim without allocation")
    dra_bench.unprepare(claim)


@case("PREP-011", Level.SHOULD)
def test_prep_011_good_beside_bad(dra_bench: Bench) -> None:
    """one bad claim does not spoil the good ones in its batch"""
    first, second = dra_bench.devices(2)
    good = dra_bench.claim([first])
    bad = _claim_with_bad_configuration(dra_bench, second)
    if bad is None:
        bad = _claim_on_unknown_device(dra_bench)
        if not dra_bench.prepare(bad).error_for(bad.uid):
            raise UnsupportedEnvironment(
                "the driver prepares a device that it does not have (see PREP-007), "
                "so that no bad claim can be made without a bad configuration",
                way_out="features.OpaqueConfig and samples.bad_config in the profile",
            )
    reply = dra_bench.prepare(good, bad)
    if not reply.ok:
        raise Violation(
            "Prepare of a good claim and one with a bad configuration",
            got=f"{reply.code}: {reply.details}",
            want="OK for the call, and an error in the bad claim's entry only",
            proof=(reply.serial,),
        )
    prepare.must_succeed(reply, good.uid, what="the good claim beside a bad one")
    prepare.must_be_refused(reply, bad.uid, what="the claim with a bad configuration")
    dra_bench.ids_must_resolve(reply, good, what="the good claim beside a bad one")


def _claim_with_bad_configuration(bench: Bench, device: Device) -> Claim | None:
    """A claim with ``samples.bad_config``; None if the profile has none."""
    samples = bench.profile.samples.bad_config
    if not bench.profile.declares("OpaqueConfig") or not samples:
        return None
    parameters: Json = samples[0]
    entry = {"opaque": {"driver": bench.driver, "parameters": parameters}}
    return bench.claim([device], config=[entry])


@case("PREP-012", Level.SHOULD)
def test_prep_012_device_in_use(dra_bench: Bench) -> None:
    """a device in use is not handed out again"""
    device = dra_bench.devices(1)[0]
    if device.spec.get("allowMultipleAllocations"):
        raise NotApplicable("every device may be allocated several times")
    holder, second = dra_bench.claim([device]), dra_bench.claim([device])
    reply = dra_bench.prepare(holder)
    prepare.must_succeed(reply, holder.uid, what="Prepare of the first claim")
    reply = dra_bench.prepare(second)
    what = f"Prepare of a second claim on device {device.name!r}"
    prepare.must_be_refused(reply, second.uid, what=what)
    dra_bench.unprepare(holder)
    reply = dra_bench.prepare(second)
    prepare.must_succeed(reply, second.uid, what=f"{what} once the first is released")

"""PREP: NodePrepareResources."""

from __future__ import annotations

import uuid

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench import Wanted
from pytest_dra.bench.calls import claim_reads
from pytest_dra.bench.claims import decoy
from pytest_dra.bench.claims import results_of
from pytest_dra.bench.configuring import entries
from pytest_dra.bench.cycle import with_configuration
from pytest_dra.bench.devices import NO_SUCH_DEVICE
from pytest_dra.bench.devices import no_such
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks import registration
from pytest_dra.checks import state
from pytest_dra.spec import Blocked
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

EMPTY_CALLS = 3
EMPTY_BATCH_S = 1.0
EMPTY_LIMIT_S = 10.0
"""An empty batch is answered in 1 s; what comes later is still waited for, to tell it apart."""

EXTENDED_REQUEST = "container-0-request-0"
EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""How the scheduler names request and annotation (contract 7.4)."""

REFUSAL_S = 5.0
CONSUMER_WORDS = ("consumer", "group", "pod", "reserved", "share")
"""A refusal of several consumers says one of these."""

BOTH = 2

MALFORMED = "CONF-003"
"""The case that says that a bad configuration is refused."""


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
    if reply.error_for(claim.uid) and not instance.over:
        reply = with_configuration(dra_bench, claim, reply)
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
    if dra_bench.profile.driver.takes_all_devices:
        return
    first, second = (dra_bench.claim([device]) for device in dra_bench.devices(2))
    dra_bench.prepare(first)
    reply = dra_bench.prepare(second)
    prepare.no_other_claims(reply, [second.ref], method=prepare.PREPARE)


def _batches(bench: Bench) -> list[tuple[list[Claim], NodeReply]]:
    """Batches of 1, 2 and up to 8 claims of one pod, each unprepared claim by claim."""
    devices = bench.batch(2, at_most=BATCH)
    answered = []
    for size in sorted({1, min(2, len(devices)), len(devices)}):
        claims = [bench.claim([device]) for device in devices[:size]]
        answered.append((claims, bench.prepare(*claims)))
        for claim in claims:
            bench.unprepare(claim)
    return answered


@case("PREP-003", Level.MUST)
def test_prep_003_named_devices(dra_bench: Bench) -> None:
    """returned devices name an allocated pool and device"""
    for devices in (dra_bench.devices(1), dra_bench.devices(2, in_one_claim=True)):
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
    first, second = dra_bench.devices(2, in_one_claim=True)
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
    claim = dra_bench.claim(dra_bench.devices(2, in_one_claim=True))
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
    own = Wanted(request="own", devices=dra_bench.together(dra_bench.devices(1)[0]))
    for own_first in (True, False):
        claim = dra_bench.claims.create([own, Wanted(request="decoy", devices=())])
        results = [*results_of([own], driver=dra_bench.driver), decoy("decoy")]
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
    return bench.claim([no_such(pool)])


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
    elif not dra_bench.prepare(bad).error_for(bad.uid):
        raise Blocked(MALFORMED)
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
    return bench.claim([device], config=entries(bench.driver, parameters))


@case("PREP-012", Level.MUST)
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


@case("PREP-008", Level.MUST)
def test_prep_008_unknown_claim(dra_bench: Bench) -> None:
    """a claim that does not exist is refused"""
    claim = dra_bench.claims.unknown()
    reply = dra_bench.prepare(claim)
    prepare.must_be_refused(reply, claim.uid, what="Prepare of a claim that does not exist")


@case("PREP-009", Level.MUST)
def test_prep_009_other_uid(dra_bench: Bench) -> None:
    """a claim with another UID is refused"""
    device = dra_bench.devices(1)[0]
    old = dra_bench.claim([device])
    dra_bench.claims.delete(old)
    dra_bench.claim([device], name=old.name)
    before = dra_bench.instance.tree()
    reply = dra_bench.prepare(old)
    what = "a deleted claim whose name a new one has"
    prepare.must_be_refused(reply, old.uid, what=f"Prepare of {what}")
    prepare.must_not_fail(dra_bench.unprepare(old), old.uid, what=f"Unprepare of {what}")
    left = dra_bench.residue_of(old, before)
    state.nothing_may_be_left(left, expected=dra_bench.plain_cycle().residue, what=what)


@case("PREP-018", Level.MUST)
def test_prep_018_extended_resource(dra_bench: Bench) -> None:
    """claims made by the scheduler for extended resources are prepared"""
    devices = dra_bench.together(dra_bench.devices(1)[0])
    wanted = [Wanted(request=EXTENDED_REQUEST, devices=devices)]
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "pod-a", "uid": str(uuid.uuid4())}
    claim = dra_bench.claims.create(
        wanted,
        metadata={
            "annotations": {EXTENDED_CLAIM: "true"},
            "ownerReferences": [{**pod, "controller": True}],
        },
    )
    claim = dra_bench.allocate(claim, results_of(wanted, driver=dra_bench.driver))
    reply = dra_bench.prepare(claim)
    what = "a claim made by the scheduler for an extended resource"
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    requests = {(device.pool, device.name): [EXTENDED_REQUEST] for device in devices}
    prepare.request_names_must_be_main_requests(reply, claim.uid, requests=requests, what=what)


@case("PREP-019", Level.SHOULD)
def test_prep_019_empty_batch(dra_bench: Bench) -> None:
    """an empty batch is answered with an empty OK"""
    claim = dra_bench.claim(dra_bench.devices(1))
    for _ in ("nothing is prepared", "a claim is prepared"):
        for method, call in (
            (prepare.PREPARE, dra_bench.prepare),
            (prepare.UNPREPARE, dra_bench.unprepare),
        ):
            replies = [call(timeout_s=EMPTY_LIMIT_S) for _ in range(EMPTY_CALLS)]
            prepare.must_be_empty(replies, within_s=EMPTY_BATCH_S, method=method)
        dra_bench.prepare(claim)


@case("PREP-020", Level.MUST)
def test_prep_020_fresh_allocation(dra_bench: Bench) -> None:
    """the allocation is read fresh from the API"""
    first, second = dra_bench.devices(2)
    claim = dra_bench.claim([first])
    prepare.must_succeed(dra_bench.prepare(claim), claim.uid, what="Prepare")
    prepare.must_succeed(dra_bench.unprepare(claim), claim.uid, what="Unprepare")
    claim = dra_bench.allocate(dra_bench.claims.deallocate(claim), dra_bench.results([second]))
    since = len(dra_bench.timeline)
    reply = dra_bench.prepare(claim)
    prepare.the_claim_must_have_been_read(
        reply,
        claim.uid,
        new=claim.pairs(dra_bench.driver),
        reads=len(claim_reads(dra_bench, since=since)),
        what="Prepare of a claim with a new allocation after release",
    )


@case("PREP-022", Level.SHOULD)
def test_prep_022_consumers(dra_bench: Bench) -> None:
    """consumers that the driver cannot serve are refused with a reason"""
    pods = [{"resource": "pods", "name": f"pod-{n}", "uid": str(uuid.uuid4())} for n in "ab"]
    group = {
        "apiGroup": "scheduling.k8s.io",
        "resource": "podgroups",
        "name": "group-a",
        "uid": str(uuid.uuid4()),
    }
    for consumers, what in ((pods, "for two pods"), ([group], "for a group of pods")):
        claim = dra_bench.claim(dra_bench.devices(1))
        dra_bench.claims.reserve(claim, consumers)
        reply = dra_bench.prepare(claim)
        prepare.must_be_refused_soon(
            reply,
            claim.uid,
            within_s=REFUSAL_S,
            what=f"Prepare of a claim reserved {what} without features.MultiPodClaim "
            "(declare it if all pods are served)",
            words=CONSUMER_WORDS,
        )
        dra_bench.unprepare(claim)


@case("PREP-024", Level.MUST)
def test_prep_024_both_versions(dra_bench: Bench) -> None:
    """both DRAPlugin versions act on one state"""
    advertised = dra_bench.registration().info().supported_versions
    versions = [name for name in registration.KNOWN_SERVICES if name in advertised]
    if len(versions) < BOTH:
        raise NotApplicable(f"only one version is advertised: {', '.join(versions)}")
    expected = dra_bench.plain_cycle().residue
    device = dra_bench.devices(1)[0]
    with dra_bench.registration().dra() as client:
        for one, other in (versions[::-1], versions):
            claim = dra_bench.claim([device])
            before = dra_bench.instance.tree()
            first = client.prepare([claim.ref], service=one)
            prepare.must_succeed(first, claim.uid, what=f"Prepare by {one}")
            again = client.prepare([claim.ref], service=other)
            what = f"Prepare by {other} of a claim that was prepared by {one}"
            prepare.must_be_the_same(first, again, claim.uid, what=what)
            done = client.unprepare([claim.ref], service=other)
            what = f"a claim that was prepared by {one} and released by {other}"
            prepare.must_succeed(done, claim.uid, what=f"Unprepare of {what}")
            left = dra_bench.residue_of(claim, before)
            state.nothing_may_be_left(left, expected=expected, what=what)

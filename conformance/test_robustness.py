"""ROB: much at a time, the unexpected, and what lasts long."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Wanted
from pytest_dra.bench import strange
from pytest_dra.bench.claims import DECOY_DRIVER
from pytest_dra.bench.claims import decoy
from pytest_dra.bench.claims import results_of
from pytest_dra.bench.configuring import entries
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.spec import Level

BATCH = 32
FEW = 4
"""Claims of one call, and how many there should be at least."""

REQUESTS = 32
CONFIGS = 32
PARAMETER_BYTES = 10 * 1024
"""Limits of a claim: requests or results, entries of configuration, and bytes of one of them."""

PADDING = 64
"""Bytes of such an entry that are not its text."""

MISSING = ("uid", "name", "namespace")


@case("ROB-001", Level.MUST)
def test_rob_001_batch(dra_bench: Bench) -> None:
    """large batches are served"""
    dra_bench.calls_must_take(FEW)
    dra_bench.devices(2)
    devices = dra_bench.every_device()[:BATCH]
    if len(devices) < FEW:
        dra_bench.warnings.add(f"there are {len(devices)} devices for a batch; want {FEW} or more")
    claims = [dra_bench.claim([device]) for device in devices]
    reply = dra_bench.prepare(*claims)
    what = f"one of {len(claims)} claims in one call"
    for claim in claims:
        prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
        dra_bench.ids_must_resolve(reply, claim, what=what)
    reply = dra_bench.unprepare(*claims)
    for claim in claims:
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")


@case("ROB-004", Level.SHOULD)
def test_rob_004_unknown_fields(dra_bench: Bench) -> None:
    """unknown protobuf fields are ignored"""
    claim = dra_bench.claim(dra_bench.devices(1))
    first = strange.prepare_from_the_future(dra_bench, claim)
    what = "Prepare with an unknown field 1000 in request and claim"
    prepare.must_succeed(first, claim.uid, what=what)
    again = dra_bench.prepare(claim)
    prepare.must_be_the_same(first, again, claim.uid, what=f"Prepare after {what}")


@case("ROB-005", Level.SHOULD)
def test_rob_005_largest_claim(dra_bench: Bench) -> None:
    """the largest legal claims work"""
    dra_bench.devices(1)
    devices = dra_bench.every_device()[:REQUESTS]
    wanted = dra_bench.completed(
        [Wanted(request=f"req-{n}", devices=(device,)) for n, device in enumerate(devices)]
    )
    others = [f"req-{n}" for n in range(len(wanted), REQUESTS)]
    text = "x" * (PARAMETER_BYTES - PADDING)
    config = entries(DECOY_DRIVER, {"text": text}) * CONFIGS
    requests = [*wanted, *(Wanted(request=name, devices=()) for name in others)]
    claim = dra_bench.claims.create(requests, config=config)
    own = results_of(wanted, driver=dra_bench.driver)
    results = [*own, *(decoy(name) for name in others)][:REQUESTS]
    claim = dra_bench.allocate(claim, results, config=config)
    reply = dra_bench.prepare(claim)
    what = f"a claim with {REQUESTS} requests and {CONFIGS} configurations of 10 KiB"
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    prepare.only_these_devices(reply, claim.uid, allocated=claim.pairs(dra_bench.driver), what=what)
    dra_bench.ids_must_resolve(reply, claim, what=what)


@case("ROB-007", Level.SHOULD)
def test_rob_007_malformed(dra_bench: Bench) -> None:
    """malformed requests do not hurt the server"""
    good = dra_bench.claim(dra_bench.devices(1))
    for missing in MISSING:
        named = {"uid": good.uid, "name": good.name, "namespace": good.namespace, missing: ""}
        reply = strange.call_with(dra_bench, **named)
        what = f"Prepare of a claim without {missing}"
        prepare.must_be_refused(reply, named["uid"], what=what)
    reply = strange.prepare_no_message(dra_bench)
    prepare.must_be_refused(reply, good.uid, what="Prepare with bytes that are no protobuf")
    reply = dra_bench.prepare(good)
    what = "Prepare of a good claim after malformed requests"
    prepare.must_succeed(reply, good.uid, what=what)

"""LIFE: a driver from its installation to its end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait

from pytest_dra.bench import Bench
from pytest_dra.bench import comeback
from pytest_dra.bench.calls import wait_until_asked
from pytest_dra.bench.configuring import entries
from pytest_dra.bench.cycle import residue_of_all
from pytest_dra.bench.cycle import run_in
from pytest_dra.bench.obstacles import held_reads
from pytest_dra.bench.shipping import manifests_must_pass
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks import restarts
from pytest_dra.checks import state
from pytest_dra.spec import Level

GRACE_S = 30.0
"""What a pod has from SIGTERM to SIGKILL."""

HELD_S = 2.0
"""How long the API server does not answer a driver that is to end."""


CYCLES = 10
"""Claims after which nothing may be left, of different kinds."""


@case("LIFE-002", Level.MUST)
def test_life_002_nothing_left(dra_bench: Bench) -> None:
    """nothing is left when all claims are gone"""
    instance, devices = dra_bench.instance, dra_bench.one_of_each_kind()
    expected = dra_bench.plain_cycle().residue
    run_in(dra_bench, devices)
    before = instance.tree()
    samples = dra_bench.profile.samples.good_config
    configs = samples if dra_bench.profile.declares("OpaqueConfig") else ()
    claims = []
    for number in range(CYCLES):
        chosen = configs[number % len(configs)] if configs and number % 2 else None
        config = [] if chosen is None else entries(dra_bench.driver, chosen)
        claim = dra_bench.claim([devices[number % len(devices)]], config=config)
        for _ in range(1 + number % 3):
            dra_bench.prepare(claim)
        reply = dra_bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare of claim {number + 1}")
        dra_bench.claims.delete(claim)
        claims.append(claim)
    left = residue_of_all(claims, instance.tree(), before)
    what = f"{CYCLES} claims, plain, configured and prepared repeatedly"
    state.nothing_may_be_left(left, expected=expected, what=what)


@case("LIFE-003", Level.SHOULD, apart_s=1)
def test_life_003_sigterm(dra_bench: Bench) -> None:
    """SIGTERM ends the driver in time"""
    instance, device = dra_bench.instance, dra_bench.devices(1)[0]
    expected = dra_bench.plain_cycle().residue
    before = instance.tree()
    claim = dra_bench.claim([device])
    with dra_bench.timeline.disturbance("SIGTERM"), ThreadPoolExecutor(2) as pool:
        with held_reads(dra_bench) as held:
            call = pool.submit(dra_bench.prepare, claim)
            wait_until_asked(call, held)
            ending = pool.submit(instance.end, within_s=GRACE_S)
            wait([ending], timeout=HELD_S)
        restarts.must_end_in_time(ended=ending.result(), within_s=GRACE_S, during=str(claim))
        call.result()
        before |= comeback.start_again(dra_bench, after="SIGTERM during Prepare")
        reply = dra_bench.prepare(claim)
        what = "a claim that was being prepared at SIGTERM"
        prepare.must_succeed(reply, claim.uid, what=f"Prepare after the restart of {what}")
        dra_bench.ids_must_resolve(reply, claim, what=what)
        reply = dra_bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")
    left = dra_bench.residue_of(claim, before)
    state.nothing_may_be_left(left, expected=expected, what=what)


@case("LIFE-006", Level.SHOULD, settles=True)
def test_life_006_fit_for_nodes(dra_bench: Bench) -> None:
    """the manifests follow the rules for node plugins"""
    manifests_must_pass(dra_bench, "LIFE-006")


@case("LIFE-011", Level.MUST, settles=True)
def test_life_011_node_allocatable(dra_bench: Bench) -> None:
    """node-allocatable mappings are legal"""
    dra_bench.inspecting.must_pass("LIFE-011")

"""ROB: many claims at a time, many one after the other, and how long they take."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench.calls import calls_with_claims
from pytest_dra.bench.cycle import residue_of_all
from pytest_dra.bench.cycle import run_in
from pytest_dra.bench.growing import usage
from pytest_dra.cases import case
from pytest_dra.checks import growth
from pytest_dra.checks import latency
from pytest_dra.checks import prepare
from pytest_dra.checks import state
from pytest_dra.spec import Level
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import Deadline

CYCLES = 100
SOAK_CYCLES = 500
AT_ONCE = 8

SPAN_S = 20.0
"""No cycle is begun later than this: a driver that keeps to 5 requests a second would take longer
for all of them."""

WARM_UP = 25
EVERY = 15
"""Cycles before the first measurement, and between two of them."""

ROUNDS = 3
"""How often growth is looked at anew: what leaks grows in each round."""

MEMORY_CYCLES = 1000
"""Cycles in which memory may grow: so many a collector of garbage takes to give its heap a size (V8
was seen to), with rounds without growth in between."""

CALLS = 50
"""Calls that a percentile needs."""


@case("ROB-002", Level.MUST, apart_s=2)
def test_rob_002_parallel(dra_bench: Bench) -> None:
    """parallel cycles end clean"""
    dra_bench.devices(2)
    devices = dra_bench.every_device()[:AT_ONCE]
    run_in(dra_bench, devices)
    before = dra_bench.instance.tree()
    cycles = dra_bench.setup.soak.either(CYCLES, SOAK_CYCLES)
    claims = [dra_bench.claim([devices[n % len(devices)]]) for n in range(cycles)]
    shares = [claims[first :: len(devices)] for first in range(len(devices))]
    deadline = Deadline.after(SPAN_S)
    with dra_bench.timeline.disturbance("load"), ThreadPoolExecutor(len(shares)) as pool:
        for done in [pool.submit(_cycle, dra_bench, share, deadline) for share in shares]:
            done.result()
    left = residue_of_all(claims, dra_bench.instance.tree(), before)
    what = f"{len(claims)} claims, {len(shares)} at a time"
    state.nothing_may_be_left(left, expected=dra_bench.plain_cycle().residue, what=what)
    for device in devices:
        successor = dra_bench.claim([device])
        reply = dra_bench.prepare(successor)
        prepare.must_succeed(reply, successor.uid, what=f"Prepare on a device after {what}")


def _cycle(bench: Bench, claims: Sequence[Claim], deadline: Deadline) -> None:
    for claim in claims:
        if deadline.passed:
            return
        what = "a claim while others are prepared and unprepared"
        reply = bench.prepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
        reply = bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare of {what}")


@case("ROB-009", Level.SHOULD, apart_s=2)
def test_rob_009_no_growth(dra_bench: Bench) -> None:
    """a soak leaves no growth"""
    claim = dra_bench.claim(dra_bench.devices(1))
    cycles = dra_bench.setup.soak.either(CYCLES, SOAK_CYCLES)
    deadline = Deadline.after(ROUNDS * SPAN_S)
    done, name = _repeat(dra_bench, claim, 0, WARM_UP), ""
    for number in itertools.count(1):
        seen = [usage(dra_bench, cycles=done)]
        while seen[-1].cycles - seen[0].cycles < cycles - WARM_UP and not deadline.passed:
            done = _repeat(dra_bench, claim, done, EVERY)
            seen.append(usage(dra_bench, cycles=done))
        name = growth.growing(seen)
        enough = number >= ROUNDS and (name != growth.MEMORY or done >= MEMORY_CYCLES)
        if not name or enough or deadline.passed:
            break
    if name == growth.MEMORY and not enough:
        raise UnsupportedEnvironment(
            f"memory grew all through {done} cycles, and time was over: it may be a heap that has "
            f"not got its size before {MEMORY_CYCLES}",
            way_out="a faster machine or driver",
        )
    growth.must_not_grow(seen)


def _repeat(bench: Bench, claim: Claim, done: int, times: int) -> int:
    for number in range(done + 1, done + times + 1):
        reply = bench.prepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Prepare in cycle {number} of one claim")
        reply = bench.unprepare(claim)
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare in cycle {number} of one claim")
    return done + times


@case("ROB-003", Level.MAY)
def test_rob_003_latency(dra_bench: Bench) -> None:
    """latency is within its budget"""
    claim = dra_bench.claim(dra_bench.devices(1))
    for _ in range(CALLS - len(calls_with_claims(dra_bench, prepare.PREPARE))):
        dra_bench.prepare(claim)
        dra_bench.unprepare(claim)
    calls = calls_with_claims(dra_bench, prepare.PREPARE)
    within_s = dra_bench.profile.budgets.latency_p99
    latency.percentile_must_be_within(calls, within_s=within_s)

"""BIND: conditions that a device waits for before it is bound."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import comeback
from pytest_dra.bench import statuses
from pytest_dra.bench.ailing import ailing
from pytest_dra.bench.ailing import wait_for as wait_for_device
from pytest_dra.bench.binding import allocate
from pytest_dra.bench.binding import are_met
from pytest_dra.bench.binding import conditional_devices
from pytest_dra.bench.binding import first_told
from pytest_dra.bench.binding import own_results
from pytest_dra.bench.binding import wait_for
from pytest_dra.bench.binding import waiting_claim
from pytest_dra.cases import case
from pytest_dra.checks import binding
from pytest_dra.checks import claim_status
from pytest_dra.checks.taints import NOTICED_S
from pytest_dra.spec import Level

BROKEN = 500
"""What the API server answers to a controller in the middle of an attachment."""

TRIED_S = 5.0
"""How long it may take to write a first condition; one that needs longer is killed before."""


@case("BIND-001", Level.MUST, settles=True)
def test_bind_001_condition_lists(dra_bench: Bench) -> None:
    """condition lists are legal"""
    dra_bench.inspecting.must_pass("BIND-001")


@case("BIND-002", Level.MUST)
def test_bind_002_met(dra_bench: Bench) -> None:
    """all binding conditions become True"""
    since, limit_s = len(dra_bench.timeline), dra_bench.profile.budgets.binding
    claim = waiting_claim(dra_bench, conditional_devices(dra_bench)[:1])
    now = wait_for(dra_bench, claim, are_met(dra_bench, claim), since=since)
    for result in own_results(dra_bench, claim):
        binding.all_must_be_met(now, result, within_s=limit_s, what="an allocated claim")


@case("BIND-003", Level.SHOULD)
def test_bind_003_failure(dra_bench: Bench) -> None:
    """a failed attachment is reported"""
    device, limit_s = conditional_devices(dra_bench)[0], dra_bench.profile.budgets.binding
    with ailing(dra_bench, device):
        since = len(dra_bench.timeline)
        claim = waiting_claim(dra_bench, [device])
        [result] = own_results(dra_bench, claim)
        key, kinds = claim_status.key_of(result), result["bindingFailureConditions"]
        now = wait_for(
            dra_bench,
            claim,
            lambda now: any(binding.conditions_at(now, key).get(each) == "True" for each in kinds),
            since=since,
        )
        what = "a claim on a device that cannot be attached"
        binding.failure_must_be_told(now, result, within_s=limit_s, what=what)
        found = wait_for_device(
            dra_bench, device, lambda found: found is None or bool(found.get("taints"))
        )
        limit_s = dra_bench.within(NOTICED_S)
        binding.must_not_be_offered(device.spec, found, device=device.name, within_s=limit_s)


@case("BIND-004", Level.MUST)
def test_bind_004_right_entry(dra_bench: Bench) -> None:
    """conditions are written to the right entry"""
    devices, limit_s = conditional_devices(dra_bench), dra_bench.profile.budgets.binding
    for chosen, decoy in ((devices[:1], True), (devices[:2], False)):
        since = len(dra_bench.timeline)
        claim = waiting_claim(dra_bench, chosen, decoy=decoy)
        now = wait_for(dra_bench, claim, are_met(dra_bench, claim), since=since)
        statuses.others_must_stay(dra_bench, since=since)
        what = "a claim of two drivers" if decoy else f"a claim with {len(chosen)} devices"
        for result in own_results(dra_bench, claim):
            binding.all_must_be_met(now, result, within_s=limit_s, what=what)


@case("BIND-005", Level.SHOULD)
def test_bind_005_begins_anew(dra_bench: Bench) -> None:
    """old conditions are not carried to a new allocation"""
    former, *others = conditional_devices(dra_bench)
    device = others[0] if others else former
    since = len(dra_bench.timeline)
    claim = waiting_claim(dra_bench, [device])
    wait_for(dra_bench, claim, are_met(dra_bench, claim), since=since)
    fresh = first_told(dra_bench, claim, since=since)
    dra_bench.claims.delete(claim)
    since = len(dra_bench.timeline)
    claim = waiting_claim(dra_bench, [former])
    wait_for(dra_bench, claim, are_met(dra_bench, claim), since=since)
    claim, since = dra_bench.claims.deallocate(claim), len(dra_bench.timeline)
    claim = allocate(dra_bench, claim, [device])
    now = wait_for(dra_bench, claim, are_met(dra_bench, claim), since=since)
    told = first_told(dra_bench, claim, since=since)
    binding.must_begin_anew(told, fresh, device=device.name, former=former.name)
    allocated = {claim_status.key_of(result) for result in claim.results}
    binding.former_must_be_gone(now, allocated, driver=dra_bench.driver)


@case("BIND-006", Level.SHOULD)
def test_bind_006_restart(dra_bench: Bench) -> None:
    """a restarted controller goes on"""
    device, limit_s = conditional_devices(dra_bench)[0], dra_bench.profile.budgets.binding
    since = len(dra_bench.timeline)
    with dra_bench.timeline.disturbance("a controller killed in the middle"):
        with statuses.refused_writes(dra_bench, BROKEN):
            claim = waiting_claim(dra_bench, [device])
            statuses.wait_for_writes(dra_bench, claim, since=since, within_s=TRIED_S)
            dra_bench.instance.kill()
        comeback.start_again(dra_bench, after="SIGKILL in the middle of an attachment")
        now = wait_for(dra_bench, claim, are_met(dra_bench, claim), since=since)
    for result in own_results(dra_bench, claim):
        what = "a claim that was allocated before a restart"
        binding.all_must_be_met(now, result, within_s=limit_s, what=what)

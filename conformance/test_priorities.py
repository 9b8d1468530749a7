"""PRIO: prioritized lists of alternatives."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import Wanted
from pytest_dra.bench.configuring import entries
from pytest_dra.bench.observing import observed
from pytest_dra.cases import case
from pytest_dra.checks import prepare
from pytest_dra.checks.settings import must_differ
from pytest_dra.checks.settings import samples_at_least
from pytest_dra.checks.settings import setting_must_be
from pytest_dra.checks.settings import steady
from pytest_dra.spec import Level

MAIN, BIG, SMALL = "gpu", "big", "small"
CHOSEN = f"{MAIN}/{BIG}"
SETTINGS = 3
OWN = "that of the chosen alternative's own configuration, which comes last"


@case("PRIO-001", Level.MUST)
def test_prio_001_prepared(dra_bench: Bench) -> None:
    """results of a prioritized list are prepared"""
    claim = dra_bench.claim_for([_wanted(dra_bench)])
    reply = dra_bench.prepare(claim)
    what = f"a claim with a result for {CHOSEN}"
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    allocated = claim.pairs(dra_bench.driver)
    prepare.only_these_devices(reply, claim.uid, allocated=allocated, what=what)
    dra_bench.ids_must_resolve(reply, claim, what=what)


@case("PRIO-002", Level.MUST)
def test_prio_002_request_names(dra_bench: Bench) -> None:
    """request_names of a prioritized list hold the main request"""
    claim = dra_bench.claim_for([_wanted(dra_bench)])
    reply = dra_bench.prepare(claim)
    what = f"a claim with a result for {CHOSEN}"
    prepare.must_succeed(reply, claim.uid, what=f"Prepare of {what}")
    requests = {pair: [MAIN] for pair in claim.pairs(dra_bench.driver)}
    prepare.request_names_must_be_main_requests(reply, claim.uid, requests=requests, what=what)


@case("PRIO-003", Level.MUST)
def test_prio_003_configuration(dra_bench: Bench) -> None:
    """only configuration of the chosen alternative applies"""
    samples = samples_at_least(dra_bench.profile.samples.good_config, SETTINGS)
    wanted, name = _wanted(dra_bench), dra_bench.driver
    once = entries(name, samples[0], requests=[CHOSEN])
    steady(lambda: observed(dra_bench, wanted, once, what="a claim with one configuration"))
    settings = dict(zip((MAIN, CHOSEN, f"{MAIN}/{SMALL}"), samples, strict=True))
    what = f"a claim with one configuration for {CHOSEN}"
    alone = {
        request: observed(dra_bench, wanted, entries(name, sample, requests=[CHOSEN]), what=what)
        for request, sample in settings.items()
    }
    must_differ(list(alone.values()))
    what = f"a claim with a result for {CHOSEN} and configurations for {', '.join(settings)}"
    config = [
        entry
        for request, sample in settings.items()
        for entry in entries(name, sample, requests=[request])
    ]
    seen = observed(dra_bench, wanted, config, what=what)
    setting_must_be(seen, wanted=alone[CHOSEN], others=alone, what=what, want=OWN)


def _wanted(bench: Bench) -> Wanted:
    return Wanted(request=MAIN, devices=tuple(bench.devices(1)), alternatives=(BIG, SMALL))

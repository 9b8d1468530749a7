"""PRIO on a cluster: the scheduler chooses the alternative, whose configuration counts."""

from __future__ import annotations

import dataclasses

from pytest_dra.cases import case
from pytest_dra.checks import giving
from pytest_dra.checks.settings import must_differ
from pytest_dra.checks.settings import samples_at_least
from pytest_dra.checks.settings import setting_must_be
from pytest_dra.checks.settings import steady
from pytest_dra.live import LiveBench
from pytest_dra.live.asking import REQUEST
from pytest_dra.live.asking import Ask
from pytest_dra.live.asking import settings
from pytest_dra.live.observing import observed_one
from pytest_dra.spec import Level

SECOND = "second"
MAIN, BIG, SMALL = "gpu", "big", "small"
CHOSEN = f"{MAIN}/{BIG}"
SETTINGS = 3
OWN = "that of the chosen alternative's own configuration, which comes last"

IMPOSSIBLE = "false"
"""A selector that matches no device."""


@case("PRIO-004", Level.SHOULD, live=True)
def test_prio_004_second_choice(dra_live: LiveBench) -> None:
    """the second choice works on a real node"""
    first = dataclasses.replace(dra_live.ask("first"), selectors=(IMPOSSIBLE,))
    claim = dra_live.claim(Ask(alternatives=(first, dra_live.ask(SECOND))))
    pod = dra_live.pod_with(claim)
    dra_live.pods.must_run(pod, want="with the second alternative")
    giving.alternative(dra_live.claims.results(claim), f"{REQUEST}/{SECOND}")
    dra_live.must_see(pod, 1)


@case("PRIO-003", Level.MUST, live=True)
def test_prio_003_configuration(dra_live: LiveBench) -> None:
    """only configuration of the chosen alternative applies"""
    samples, name = (
        samples_at_least(dra_live.profile.samples.good_config, SETTINGS),
        dra_live.driver.name,
    )
    ask = Ask(name=MAIN, alternatives=(dra_live.ask(BIG), dra_live.ask(SMALL)))
    given = dict(zip((MAIN, CHOSEN, f"{MAIN}/{SMALL}"), samples, strict=True))
    what = f"a claim with one configuration for {CHOSEN}"
    once = [settings(name, samples[0], requests=[CHOSEN])]
    steady(lambda: observed_one(dra_live, ask, config=once, what=what))
    alone = {
        request: observed_one(
            dra_live, ask, config=[settings(name, sample, requests=[CHOSEN])], what=what
        )
        for request, sample in given.items()
    }
    must_differ(list(alone.values()))
    what = f"a claim with a result for {CHOSEN} and configurations for {', '.join(given)}"
    config = [settings(name, sample, requests=[request]) for request, sample in given.items()]
    seen = observed_one(dra_live, ask, config=config, what=what)
    setting_must_be(seen, wanted=alone[CHOSEN], others=alone, what=what, want=OWN)

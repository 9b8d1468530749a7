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
from pytest_dra.live.observing import observed
from pytest_dra.spec import Json
from pytest_dra.spec import Level

SECOND = "second"
MAIN, BIG, SMALL, OTHER = "gpu", "big", "small", "other"
CHOSEN = f"{MAIN}/{BIG}"
TWO, SETTINGS = 2, 3
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
    dra_live.need_devices(TWO)
    name, good = dra_live.driver.name, dra_live.profile.samples.good_config
    samples = samples_at_least(good, SETTINGS)
    alternatives = (dra_live.ask(BIG), dra_live.ask(SMALL))
    asks = (Ask(name=MAIN, alternatives=alternatives), dra_live.ask(OTHER))

    def seen(what: str, *config: Json) -> str:
        return observed(dra_live, *asks, config=config, what=what)[MAIN]

    def once(sample: Json) -> str:
        what = f"a claim with one configuration for {CHOSEN}"
        return seen(what, settings(name, sample, requests=[CHOSEN]))

    # A scheduler leaves out what is for other subrequests alone: the last one is for somebody else.
    places = ([MAIN], [CHOSEN], [f"{MAIN}/{SMALL}", OTHER])
    alone = {" and ".join(place): once(each) for place, each in zip(places, samples, strict=True)}
    must_differ(list(alone.values()))
    steady(lambda: once(samples[0]))
    what = f"a claim with a result for {CHOSEN} and configurations for {', '.join(alone)}"
    config = [
        settings(name, sample, requests=place)
        for place, sample in zip(places, samples, strict=True)
    ]
    found = seen(what, *config)
    setting_must_be(found, wanted=alone[CHOSEN], others=alone, what=what, want=OWN)

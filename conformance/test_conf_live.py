"""CONF on a cluster: what is set for devices by configuration, and what of it is refused before."""

from __future__ import annotations

import dataclasses

from pytest_dra.cases import case
from pytest_dra.checks.settings import must_differ
from pytest_dra.checks.settings import samples_at_least
from pytest_dra.checks.settings import setting_must_be
from pytest_dra.checks.settings import steady
from pytest_dra.live import LiveBench
from pytest_dra.live import classes
from pytest_dra.live import screening
from pytest_dra.live.asking import settings
from pytest_dra.live.observing import observed
from pytest_dra.live.observing import observed_one
from pytest_dra.spec import Level

BOTH = 2
REQUESTS = 3


@case("CONF-005", Level.SHOULD, live=True)
def test_conf_005_precedence(dra_live: LiveBench) -> None:
    """claim configuration beats class configuration"""
    name, ask = dra_live.driver.name, dra_live.ask()
    first, second = (
        settings(name, each)
        for each in samples_at_least(dra_live.profile.samples.good_config, BOTH)
    )

    def alone() -> str:
        return observed_one(dra_live, ask, config=[first], what="one configuration")

    before = steady(alone)
    wanted = observed_one(dra_live, ask, config=[second], what="another configuration")
    must_differ([before, wanted])
    for what, of_class, of_claim in (
        ("a claim with its own configuration and one of its class", [first], [second]),
        ("a claim with two configurations of its class", [first, second], []),
    ):
        with classes.configured(dra_live, of_class) as device_class:
            asked = dataclasses.replace(ask, device_class=device_class)
            seen = observed_one(dra_live, asked, config=of_claim, what=what)
        want = "that of the last entry: those of the claim come behind those of its class"
        others = {"the entry before": before}
        setting_must_be(seen, wanted=wanted, others=others, what=what, want=want)


@case("CONF-006", Level.MUST, live=True)
def test_conf_006_requests(dra_live: LiveBench) -> None:
    """configuration applies to the requests it names"""
    dra_live.need_devices(REQUESTS)
    samples, name = (
        samples_at_least(dra_live.profile.samples.good_config, REQUESTS),
        dra_live.driver.name,
    )
    asks = [dra_live.ask(f"req-{n}") for n in range(REQUESTS)]
    what = "one configuration for all requests"

    def first() -> dict[str, str]:
        return observed(dra_live, *asks, config=[settings(name, samples[0])], what=what)

    steady(lambda: "".join(first().values()))
    uniform = [
        observed(dra_live, *asks, config=[settings(name, each)], what=what) for each in samples
    ]
    must_differ([seen[asks[0].name] for seen in uniform])
    config = [
        settings(name, sample, requests=[ask.name])
        for ask, sample in zip(asks, samples, strict=True)
    ]
    what = "a claim with a configuration for each of three requests"
    seen = observed(dra_live, *asks, config=config, what=what)
    for number, ask in enumerate(asks):
        others = {
            f"request {other.name}": uniform[n][ask.name]
            for n, other in enumerate(asks)
            if n != number
        }
        setting_must_be(
            seen[ask.name],
            wanted=uniform[number][ask.name],
            others=others,
            what=f"request {ask.name} of {what}",
            want="that of the configuration that names this request",
        )


@case("CONF-007", Level.MAY, live=True)
def test_conf_007_webhook(dra_live: LiveBench) -> None:
    """the admission webhook rejects bad configuration"""
    samples = dra_live.profile.samples
    device_class, driver = dra_live.device_class, dra_live.driver.name
    for version in screening.served(dra_live.client):
        for kind in screening.KINDS:
            for good in (*samples.good_config[:1],):
                body = screening.body(kind, version, device_class, driver, good)
                screening.must_be_taken(dra_live.client, body, dra_live.namespace)
            for bad in samples.bad_config:
                body = screening.body(kind, version, device_class, driver, bad)
                screening.must_be_refused(dra_live.client, body, dra_live.namespace)

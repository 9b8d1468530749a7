"""CONF on a cluster: configuration that is refused before a pod waits for it."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.live import LiveBench
from pytest_dra.live import screening
from pytest_dra.spec import Level


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

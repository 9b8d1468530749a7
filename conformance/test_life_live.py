"""LIFE on a cluster: the whole way of a claim, with the scheduler, kubelet and runtime there."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.live import LiveBench
from pytest_dra.live.asking import CLAIM
from pytest_dra.spec import Level


@case("LIFE-001", Level.MUST, live=True)
def test_life_001_whole_path(dra_live: LiveBench) -> None:
    """the whole path works on a cluster"""
    dra_live.driver.must_publish()
    pod = dra_live.pod(templates={CLAIM: dra_live.template()})
    state = dra_live.pods.must_run(pod)
    generated = state["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
    claim = dra_live.claim()
    other = dra_live.pod_with(claim)
    dra_live.pods.must_run(other)
    dra_live.pods.end(pod, other)
    dra_live.claims.must_go(generated)
    dra_live.claims.must_be_deallocated(claim)

"""PREP on a cluster: what the kubelet has prepared for a pod."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.live import LiveBench
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import Use
from pytest_dra.spec import Level


@case("PREP-017", Level.SHOULD, live=True)
def test_prep_017_unused_claim(dra_live: LiveBench) -> None:
    """a claim that no container uses is prepared"""
    pod = dra_live.pod(claims={CLAIM: dra_live.claim()}, uses=[Use()])
    dra_live.pods.must_run(pod, want="with a claim that no container uses")
    dra_live.pods.end(pod)

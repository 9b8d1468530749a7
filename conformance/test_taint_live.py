"""TAINT on a cluster: pods on devices that have become faulty."""

from __future__ import annotations

import dataclasses

from pytest_dra.cases import case
from pytest_dra.live import LiveBench
from pytest_dra.live import ailing
from pytest_dra.live import choosing
from pytest_dra.spec import Level

EVICTS = "NoExecute"
"""The effect of a taint by which a controller of the cluster ends pods."""


@case("TAINT-005", Level.MUST, live=True)
def test_taint_005_release(dra_live: LiveBench) -> None:
    """claims on a tainted device can be released"""
    claim, pod, held = ailing.holding(dra_live, dra_live.ask())
    with ailing.failing(dra_live, held):
        found = ailing.tainted(dra_live, held)
        if all(taint.get("effect") != EVICTS for taint in found["taints"]):
            dra_live.pods.delete(pod)
        dra_live.pods.must_go(pod)
        dra_live.claims.must_be_deallocated(claim)


@case("TAINT-006", Level.SHOULD, live=True)
def test_taint_006_tolerated(dra_live: LiveBench) -> None:
    """a tolerated taint does not prevent Prepare"""
    device = dra_live.driver.offered(dra_live.device_class)[0]
    held = (dra_live.driver.name, *choosing.place_of(device))
    ask = choosing.asking_for(dra_live, held)
    with ailing.failing(dra_live, held):
        ailing.tainted(dra_live, held)
        claim = dra_live.claim(dataclasses.replace(ask, tolerated=True))
        pod = dra_live.pod_with(claim)
        dra_live.pods.must_run(pod, want="with a claim that tolerates the taint of its device")
        dra_live.pods.end(pod)

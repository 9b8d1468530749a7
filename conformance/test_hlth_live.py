"""HLTH on a cluster: what becomes of a pod whose device is bad, and of the device."""

from __future__ import annotations

import dataclasses

from pytest_dra.cases import case
from pytest_dra.checks import taints
from pytest_dra.checks.taints import NOTICED_S
from pytest_dra.live import LiveBench
from pytest_dra.live import ailing
from pytest_dra.spec import Level


@case("HLTH-009", Level.SHOULD, live=True)
def test_hlth_009_in_pod_status(dra_live: LiveBench) -> None:
    """an unhealthy device shows in pod status"""
    # A taint of the faulty device would evict the pod.
    ask = dataclasses.replace(dra_live.ask(), tolerated=True)
    _, pod, held = ailing.holding(dra_live, ask)
    hooks = dra_live.profile.hooks
    try:
        ailing.run(dra_live, "hooks.fault", hooks.fault, held)
        ailing.must_show(dra_live, pod, held, ailing.UNHEALTHY)
    finally:
        ailing.run(dra_live, "hooks.heal", hooks.heal, held)
    ailing.must_show(dra_live, pod, held, ailing.HEALTHY)


@case("HLTH-010", Level.SHOULD, live=True)
def test_hlth_010_no_new_claims(dra_live: LiveBench) -> None:
    """a bad device gets no new claims and can be released"""
    claim, pod, held = ailing.holding(dra_live, dra_live.ask())
    with ailing.failing(dra_live, held):
        found = ailing.published_until(dra_live, held, taints.is_closed)
        taints.must_be_closed(found, device=held[2], within_s=NOTICED_S)
        dra_live.pods.end(pod)
        dra_live.claims.must_be_deallocated(claim)

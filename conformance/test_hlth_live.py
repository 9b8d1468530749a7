"""HLTH on a cluster: what the kubelet makes of health in the pod's status."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.live import LiveBench
from pytest_dra.live import ailing
from pytest_dra.spec import Level


@case("HLTH-009", Level.SHOULD, live=True)
def test_hlth_009_in_pod_status(dra_live: LiveBench) -> None:
    """an unhealthy device shows in pod status"""
    claim = dra_live.claim()
    pod = dra_live.pod_with(claim)
    dra_live.pods.must_run(pod)
    (held,) = dra_live.claims.devices(claim)
    hooks = dra_live.profile.hooks
    try:
        ailing.run(dra_live, "hooks.fault", hooks.fault, held)
        ailing.must_show(dra_live, pod, held, ailing.UNHEALTHY)
    finally:
        ailing.run(dra_live, "hooks.heal", hooks.heal, held)
    ailing.must_show(dra_live, pod, held, ailing.HEALTHY)

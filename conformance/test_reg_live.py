"""REG on a cluster: the driver's sockets on a node."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import registration
from pytest_dra.live import LiveBench
from pytest_dra.live.node import REGISTRY
from pytest_dra.spec import Level
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

GRACE_S = 30.0
"""What a pod has from SIGTERM to SIGKILL."""


@case("REG-001", Level.MUST, live=True)
def test_reg_001_socket(dra_live: LiveBench) -> None:
    """the driver offers a socket in the kubelet's plugin registry"""
    pod = dra_live.pod_with(dra_live.claim())
    try:
        dra_live.pods.must_run(pod)
    except Violation as violation:
        try:
            found = dra_live.node.sockets()
        except UnsupportedEnvironment:
            raise violation from None
        if any(each.startswith(f"{REGISTRY}/") for each in found):
            return
        raise Violation(
            f"{REGISTRY} of node {dra_live.node.name}",
            got=f"no socket there, but {', '.join(found) or 'none elsewhere'}; {violation.got}",
            want="a socket of the driver, by which the kubelet registers it",
        ) from violation


@case("REG-012", Level.SHOULD, live=True)
def test_reg_012_removed(dra_live: LiveBench) -> None:
    """SIGTERM removes the driver's sockets"""
    left = dra_live.absence().sockets
    if left is None:
        raise UnsupportedEnvironment(
            "nobody can look at the node's directories",
            way_out="a cluster that lets us in, such as kind's",
        )
    registration.sockets_must_be_removed(left, in_time=True, within_s=GRACE_S)

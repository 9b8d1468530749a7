"""ADM on a cluster: administrators look at devices that others use."""

from __future__ import annotations

import dataclasses

from pytest_dra.cases import case
from pytest_dra.live import LiveBench
from pytest_dra.live import choosing
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

RESULTS_MAX = 32
"""Most results that one claim can hold (contract 1.5)."""


@case("ADM-002", Level.MUST, live=True)
def test_adm_002_release(dra_live: LiveBench) -> None:
    """releasing admin access leaves the user alone"""
    claim = dra_live.claim()
    user = dra_live.pod_with(claim)
    dra_live.pods.must_run(user)
    (held,) = dra_live.claims.devices(claim)
    ask = dataclasses.replace(choosing.asking_for(dra_live, held), admin=True)
    admin = dra_live.pod_with(dra_live.claim(ask))
    dra_live.pods.must_run(admin, want=f"with admin access to the device of {user}")
    dra_live.pods.end(admin)
    # A container that runs has its device whatever becomes of it; the next one shows it.
    other = dra_live.pod_with(claim)
    want = f"with the claim of {user}, after a pod with admin access to its device has ended"
    dra_live.pods.must_run(other, want=want)
    if dra_live.profile.injection.probe is not None:
        dra_live.must_see(other, 1)


@case("ADM-005", Level.SHOULD, live=True)
def test_adm_005_all_devices(dra_live: LiveBench) -> None:
    """admin access to all devices returns all"""
    number = len(dra_live.driver.offered(dra_live.device_class))
    if number > RESULTS_MAX:
        raise NotApplicable(f"{number} devices of one class on a node, {RESULTS_MAX} at most")
    claim = dra_live.claim(dataclasses.replace(dra_live.ask(), every=True, admin=True))
    pod = dra_live.pod_with(claim)
    dra_live.pods.must_run(pod, want=f"with admin access to all {number} devices of a class")
    held = [each for each in dra_live.claims.devices(claim) if each[0] == dra_live.driver.name]
    probed = dra_live.profile.injection.probe is not None
    try:
        got = dra_live.node.prepared(dra_live.claims.uid(claim))
    except UnsupportedEnvironment:
        if not probed:
            raise
    else:
        missing = sorted({each[1:] for each in held} - set(got))
        if missing:
            raise Violation(
                f"the answer to Prepare of claim {dra_live.namespace}/{claim}, which has admin "
                f"access to {len(held)} devices, as the kubelet keeps it",
                got=f"{len(got)} devices; missing: {missing[:RESULTS_MAX]}",
                want="all of them",
            )
    if probed:
        dra_live.must_see(pod, len(held))

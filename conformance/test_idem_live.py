"""IDEM on a cluster: a kubelet asks for prepared and new claims of a pod in one call."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.live import LiveBench
from pytest_dra.spec import Level

TWO = 2


@case("IDEM-006", Level.MUST, live=True)
def test_idem_006_mixed(dra_live: LiveBench) -> None:
    """a batch may mix prepared and new claims"""
    dra_live.need_devices(TWO)
    prepared, new = dra_live.claim(), dra_live.claim()
    first = dra_live.pod_with(prepared)
    dra_live.pods.must_run(first)
    both = dra_live.pod(claims={"prepared": prepared, "new": new})
    dra_live.pods.must_run(both, want=f"with the claim of {first} and another one")
    if dra_live.profile.injection.probe is not None:
        dra_live.must_see(both, TWO)
    dra_live.pods.end(first, both)
    dra_live.claims.must_be_deallocated(prepared)
    dra_live.claims.must_be_deallocated(new)

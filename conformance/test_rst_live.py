"""RST on a cluster: who goes on running while others restart."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import giving
from pytest_dra.checks import instances
from pytest_dra.live import LiveBench
from pytest_dra.live.pods import Pod
from pytest_dra.spec import Level
from pytest_dra.waiting import pause

AFTERWARDS_S = 10.0
"""After each restart, as the catalogue has it: what a restart spoils is spoilt by then."""


@case("RST-012", Level.MUST, live=True)
def test_rst_012_running(dra_live: LiveBench) -> None:
    """running containers survive restarts of driver and kubelet"""
    pod = dra_live.pod_with(dra_live.claim())
    dra_live.pods.must_run(pod)
    dra_live.must_see(pod, 1)
    before = dra_live.pods.containers(pod)
    dra_live.restarts.anew()
    _must_be_untouched(dra_live, pod, before, "the driver's pod")
    dra_live.restart_kubelet()
    _must_be_untouched(dra_live, pod, before, "the kubelet")


@case("RST-007", Level.MUST, live=True)
def test_rst_007_deleted_meanwhile(dra_live: LiveBench) -> None:
    """pods deleted while the driver was down are cleaned up"""
    found = dra_live.absence().ending
    if found is not None:
        raise found


@case("RST-008", Level.SHOULD, live=True)
def test_rst_008_slices_stay(dra_live: LiveBench) -> None:
    """a restart keeps the slices"""
    seen = dra_live.restarts.last()
    before, after = instances.kept_of(seen.before), instances.kept_of(seen.after)
    instances.slices_must_stay(before, after, during="the restart of the driver's pod")


def _must_be_untouched(
    bench: LiveBench, pod: Pod, before: list[tuple[str, str, int]], what: str
) -> None:
    pause(AFTERWARDS_S)
    giving.same_containers(before, bench.pods.containers(pod), pod=str(pod), what=what)
    bench.must_see(pod, 1)

"""CDI on a cluster: which containers the runtime gives the edits to."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import edits
from pytest_dra.live import LiveBench
from pytest_dra.live import nodespecs
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import Use
from pytest_dra.live.probing import devices_must_differ
from pytest_dra.spec import Level

NEEDED = 2

RUNNING = "which its runtime does with the devices of the claim only if it finds them"


@case("CDI-011", Level.MUST, live=True)
def test_cdi_011_own_edits(dra_live: LiveBench) -> None:
    """a container sees the edits of its claims and requests only"""
    dra_live.need_devices(NEEDED)
    claim = dra_live.claim(dra_live.ask("a"), dra_live.ask("b"))
    uses = [Use(name=name, claims=((CLAIM, name),)) for name in ("a", "b")]
    pod = dra_live.pod(claims={CLAIM: claim}, uses=[*uses, Use(name="none")])
    dra_live.pods.must_run(pod)
    one, other = (dra_live.must_see(pod, 1, container=name) for name in ("a", "b"))
    devices_must_differ(f"{pod}, container a", "container b", one, other)
    dra_live.must_see(pod, 0, container="none")


@case("CDI-013", Level.MAY, live=True)
def test_cdi_013_without_ids(dra_live: LiveBench) -> None:
    """a driver without CDI ids declares it and brings a probe"""
    claim = dra_live.claim()
    pod = dra_live.pod_with(claim)
    dra_live.pods.must_run(pod)
    dra_live.must_see(pod, 1)
    dra_live.node.must_have_no_ids(dra_live.claims.uid(claim))


@case("CDI-007", Level.MUST, live=True)
def test_cdi_007_host_paths(dra_live: LiveBench) -> None:
    """host paths in the edits exist at Prepare time"""
    for told in nodespecs.told(dra_live):
        absent = dra_live.profile.injection.absent_paths or ()
        edits.host_paths_must_exist(told.edits, told.host, absent=absent, what=told.claim)


@case("CDI-015", Level.MUST, live=True)
def test_cdi_015_noticed(dra_live: LiveBench) -> None:
    """spec files arrive in a way that runtimes notice"""
    pod = dra_live.pod_with(dra_live.claim())
    dra_live.pods.must_run(pod, want=RUNNING)
    if dra_live.profile.injection.probe is not None:
        dra_live.must_see(pod, 1)


@case("CDI-017", Level.MUST, live=True)
def test_cdi_017_bind_mounts(dra_live: LiveBench) -> None:
    """mounts of host paths are bind mounts"""
    for told in nodespecs.told(dra_live):
        edits.mounts_must_be_binds(
            told.edits, told.host, runtime="the runtime of the node", what=told.claim
        )

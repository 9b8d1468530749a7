"""RST on a cluster: who goes on running while others restart."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import giving
from pytest_dra.checks import instances
from pytest_dra.checks import slices
from pytest_dra.live import LiveBench
from pytest_dra.live import choosing
from pytest_dra.live import releases
from pytest_dra.live.asking import Ask
from pytest_dra.live.pods import Pod
from pytest_dra.live.successor import Successor
from pytest_dra.spec import Level
from pytest_dra.waiting import pause

AFTERWARDS_S = 10.0
"""After both restarts, as the catalogue has it: what they spoil is spoilt by then."""

EARLY_S = 1.0
"""From the registration of an instance to its early death."""

TWO = 2


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
    # What the driver's restart spoils later is seen now, too: one wait for both.
    pause(AFTERWARDS_S)
    _must_be_untouched(dra_live, pod, before, "the driver's pod and the kubelet")


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


@case("RST-009", Level.SHOULD, live=True)
def test_rst_009_shared_work(dra_live: LiveBench) -> None:
    """two instances share their work"""
    published = instances.kept_of(dra_live.driver.must_publish())
    claim = dra_live.claim()
    of_first = dra_live.pod_with(claim)
    dra_live.pods.must_run(of_first)
    (held,) = dra_live.claims.devices(claim)
    ask = choosing.asking_for(dra_live, held)
    with Successor(dra_live) as second:
        second.start()
        # A kubelet calls the instance that has registered last.
        dra_live.pods.end(of_first)
        of_second = _runs(dra_live, ask, f"on the device of {of_first}, beside a second instance")
        second.end()
        dra_live.pods.end(of_second)
        last = _runs(dra_live, ask, "on the same device, after the end of the second instance")
        dra_live.pods.end(last)
    now = instances.kept_of(dra_live.driver.slices())
    instances.slices_must_stay(published, now, during="a second instance on one node")


@case("RST-010", Level.SHOULD, live=True)
def test_rst_010_death_of_the_new(dra_live: LiveBench) -> None:
    """the old instance survives the death of the new one"""
    published = dra_live.driver.must_publish()
    with Successor(dra_live) as second:
        second.must_be_seen()
        second.start()
        pause(EARLY_S)
        second.kill()
        _must_serve(dra_live, second, after="the death of a registered one")
        second.begin()
        second.kill()
        _must_serve(dra_live, second, after="the death of one that starts")
        slices.inventory_must_be_back(
            dra_live.driver.slices(),
            before=published,
            after="the death of a second instance",
            within_s=0,
        )


@case("RST-011", Level.SHOULD, live=True)
def test_rst_011_update(dra_live: LiveBench) -> None:
    """an update keeps prepared claims"""
    dra_live.need_devices(TWO)
    claims = [dra_live.claim() for _ in range(TWO)]
    with releases.previous(dra_live):
        pods = [releases.prepared(dra_live, claim) for claim in claims]
    # The kubelet has the ids of the previous release, and does not ask again.
    other = dra_live.pod_with(claims[0])
    dra_live.pods.must_run(other, want=f"with the claim of {pods[0]}, after the update")
    if dra_live.profile.injection.probe is not None:
        dra_live.must_see(other, 1)
    uids = [dra_live.claims.uid(claim) for claim in claims]
    held = dra_live.claims.devices(claims[1])[0]
    ask = choosing.asking_for(dra_live, held)
    dra_live.pods.end(other, *pods)
    for claim, uid in zip(claims, uids, strict=True):
        dra_live.claims.must_be_deallocated(claim)
        dra_live.node.must_forget(uid)
    _runs(dra_live, ask, "on a device that the previous release has prepared")


def _runs(bench: LiveBench, ask: Ask, want: str) -> Pod:
    pod = bench.pod_with(bench.claim(ask))
    bench.pods.must_run(pod, want=want)
    if bench.profile.injection.probe is not None:
        bench.must_see(pod, 1)
    return pod


def _must_serve(bench: LiveBench, second: Successor, *, after: str) -> None:
    second.sockets_must_be_untouched(during=after)
    pod = _runs(bench, bench.ask(), f"by the old instance after {after}")
    bench.pods.end(pod)


def _must_be_untouched(
    bench: LiveBench, pod: Pod, before: list[tuple[str, str, int]], what: str
) -> None:
    giving.same_containers(before, bench.pods.containers(pod), pod=str(pod), what=what)
    bench.must_see(pod, 1)

"""SHARE on a cluster: who gets which device, seen from within containers."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import giving
from pytest_dra.live import LiveBench
from pytest_dra.live import partner
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import CONTAINER
from pytest_dra.live.asking import Ask
from pytest_dra.live.asking import Use
from pytest_dra.live.probing import Seen
from pytest_dra.live.probing import devices_must_be_seen
from pytest_dra.live.probing import devices_must_be_the_same
from pytest_dra.live.probing import devices_must_differ
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable

OTHER = "other"
FIRST = "first"
TWO = 2
THREE = 3


@case("SHARE-001", Level.MUST, live=True)
def test_share_001_again(dra_live: LiveBench) -> None:
    """a device works again for the next pod"""
    held = []
    for number in (1, 2):
        claim = dra_live.claim(dra_live.ask(pinned=True))
        pod = dra_live.pod_with(claim)
        dra_live.pods.must_run(pod, want=f"pod {number} of 2 on the device of samples.pin")
        dra_live.must_see(pod, 1)
        held.append(dra_live.claims.devices(claim))
        dra_live.pods.end(pod)
    giving.same_device(*held)


@case("SHARE-002", Level.MUST, live=True)
def test_share_002_two_claims(dra_live: LiveBench) -> None:
    """two claims get two devices"""
    dra_live.need_devices(TWO)
    claims = [dra_live.claim() for _ in range(TWO)]
    pods = [dra_live.pod_with(each) for each in claims]
    for pod in pods:
        dra_live.pods.must_run(pod)
    giving.other_devices(*map(dra_live.claims.devices, claims))
    one, other = (dra_live.must_see(pod, 1) for pod in pods)
    devices_must_differ(str(pods[0]), str(pods[1]), one, other)


@case("SHARE-003", Level.SHOULD, live=True)
def test_share_003_none(dra_live: LiveBench) -> None:
    """a pod without a claim sees no device"""
    if dra_live.profile.injection.ambient:
        raise NotApplicable("injection.ambient: every container sees the devices")
    pod = dra_live.pod()
    dra_live.pods.must_run(pod)
    dra_live.must_see(pod, 0)


@case("SHARE-004", Level.SHOULD, live=True)
def test_share_004_containers(dra_live: LiveBench) -> None:
    """several containers of a pod can share a claim"""
    uses = [Use(name=name, claims=((CLAIM, None),)) for name in (CONTAINER, OTHER)]
    pod = dra_live.pod(claims={CLAIM: dra_live.claim()}, uses=uses)
    dra_live.pods.must_run(pod, want="both on one claim")
    one, other = (dra_live.must_see(pod, 1, container=name) for name in (CONTAINER, OTHER))
    devices_must_be_the_same(str(pod), CONTAINER, OTHER, one, other)


@case("SHARE-006", Level.SHOULD, live=True)
def test_share_006_init(dra_live: LiveBench) -> None:
    """init and main container can use one claim after each other"""
    probe, claims = dra_live.probe, ((CLAIM, None),)
    uses = [Use(name=FIRST, claims=claims, first=True, command=probe.command), Use(claims=claims)]
    pod = dra_live.pod(claims={CLAIM: dra_live.claim()}, uses=uses)
    dra_live.pods.must_run(pod, want="after an init container on the same claim")
    seen = Seen.of(dra_live.pods.told_by(pod, container=FIRST), probe.expect)
    devices_must_be_seen(f"{pod}, init container {FIRST}", seen, probe.expect, devices=1)
    dra_live.must_see(pod, 1)


@case("SHARE-007", Level.SHOULD, live=True)
def test_share_007_two_devices(dra_live: LiveBench) -> None:
    """one container can hold two devices"""
    dra_live.need_devices(TWO)
    several = dra_live.pod(claims={"one": dra_live.claim(), "two": dra_live.claim()})
    dra_live.pods.must_run(several, want="with two claims")
    dra_live.must_see(several, TWO)
    dra_live.pods.end(several)
    together = dra_live.pod_with(dra_live.claim(dra_live.ask(count=TWO)))
    dra_live.pods.must_run(together, want="with a claim of two devices")
    dra_live.must_see(together, TWO)


@case("SHARE-008", Level.MUST, live=True)
def test_share_008_two_drivers(dra_live: LiveBench) -> None:
    """a claim of two drivers works in a pod"""
    with dra_live.partner():
        second = Ask(name="partner", device_class=partner.DEVICE_CLASS)
        claim = dra_live.claim(dra_live.ask(), second)
        pod = dra_live.pod_with(claim)
        dra_live.pods.must_run(pod, want="with a claim of two drivers")
        dra_live.must_see(pod, 1)
        dra_live.must_see(pod, 1, probe=partner.PROBE)
        dra_live.pods.end(pod)
        dra_live.claims.must_be_deallocated(claim)


@case("SHARE-005", Level.MAY, live=True)
def test_share_005_pods(dra_live: LiveBench) -> None:
    """several pods of a node can share a claim"""
    claim = dra_live.claim()
    pods = [dra_live.pod_with(claim) for _ in range(THREE)]
    for pod in pods:
        dra_live.pods.must_run(pod, want=f"one of {THREE} on one claim")
    while pods:
        for pod in pods:
            dra_live.must_see(pod, 1)
        dra_live.pods.end(pods.pop())
    dra_live.claims.must_be_deallocated(claim)

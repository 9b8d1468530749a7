"""LIFE on a cluster: the whole way of a claim, with the scheduler, kubelet and runtime there."""

from __future__ import annotations

from pytest_dra.cases import case
from pytest_dra.checks import giving
from pytest_dra.checks import overlaps
from pytest_dra.live import LiveBench
from pytest_dra.live import unprepared
from pytest_dra.live.absence import WIPED_S
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import CONTAINER
from pytest_dra.live.asking import NODE_FOLDER
from pytest_dra.live.asking import Use
from pytest_dra.live.asking import implicit
from pytest_dra.live.pods import Pod
from pytest_dra.spec import Level

ROUNDS = 20
ROUND_S = 5.0
"""Rounds of LIFE-007, and how long a pod of them may take before it is deleted."""

SPARE = 2
"""Devices for each of the pods that go beside each other in it: one is still being given back."""

DEVICES_MAX = 16
"""Devices that are all used at the end of LIFE-007: pods of a busy node take a second each."""

TRIES = 3
STAMPS = "/stamps"
"""Rounds of LIFE-012, and where its pods write what time it is: a folder of the node."""

TELLING = (
    'name={name}; trap "" TERM; while :; do read up rest < /proc/uptime; '
    'echo "$name $up" >> {file}; sleep 0.1; done'
)
"""A container that says again and again that it runs, by the node's clock, and ignores SIGTERM."""


@case("LIFE-001", Level.MUST, live=True)
def test_life_001_whole_path(dra_live: LiveBench) -> None:
    """the whole path works on a cluster"""
    dra_live.driver.must_publish()
    pod = dra_live.pod(templates={CLAIM: dra_live.template()})
    state = dra_live.pods.must_run(pod)
    generated = state["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
    claim = dra_live.claim()
    other = dra_live.pod_with(claim)
    dra_live.pods.must_run(other)
    dra_live.pods.end(pod, other)
    dra_live.claims.must_go(generated)
    dra_live.claims.must_be_deallocated(claim)


@case("LIFE-004", Level.MUST, live=True)
def test_life_004_forced(dra_live: LiveBench) -> None:
    """force-deleted pods are released"""
    first = dra_live.claim(dra_live.ask(pinned=True))
    pod = dra_live.pod_with(first)
    dra_live.pods.must_run(pod)
    uid = dra_live.claims.uid(first)
    dra_live.pods.delete(pod, grace_s=0)
    dra_live.claims.delete(first)
    successor = dra_live.pod_with(dra_live.claim(dra_live.ask(pinned=True)))
    want = f"on the device of {pod}, which was deleted by force"
    dra_live.pods.must_run(successor, want=want)
    if dra_live.profile.injection.probe is not None:
        dra_live.must_see(successor, 1)
    dra_live.node.must_forget(uid)


@case("LIFE-005", Level.SHOULD, live=True)
def test_life_005_uninstalled(dra_live: LiveBench) -> None:
    """an uninstalled driver leaves no slices"""
    left = dra_live.absence().slices
    giving.no_slices(left, driver=dra_live.driver.name, within_s=WIPED_S)


@case("LIFE-007", Level.SHOULD, settles=True, live=True, disruptive=True)
def test_life_007_quick(dra_live: LiveBench) -> None:
    """quick creation and deletion loses nothing"""
    template = dra_live.template()
    devices = dra_live.driver.devices(dra_live.device_class)[:DEVICES_MAX]
    beside = max(1, len(devices) // SPARE)
    for begun in range(0, ROUNDS, beside):
        number = min(beside, ROUNDS - begun)
        quick = [dra_live.pod(templates={CLAIM: template}) for _ in range(number)]
        for pod in quick:
            dra_live.pods.runs_within(pod, ROUND_S)
            dra_live.pods.delete(pod)
    dra_live.pods.must_all_go()
    dra_live.claims.must_leave_none()
    pods = [dra_live.pod(templates={CLAIM: template}) for _ in devices]
    for pod in pods:
        dra_live.pods.must_run(pod, want=f"one on each device after {ROUNDS} quick ones")


@case("LIFE-008", Level.SHOULD, live=True)
def test_life_008_before(dra_live: LiveBench) -> None:
    """pods that wait for the driver start when it comes"""
    found = dra_live.absence().waiting
    if found is not None:
        raise found


@case("LIFE-009", Level.MUST, live=True)
def test_life_009_no_plugin(dra_live: LiveBench) -> None:
    """devices without node operations need no plugin"""
    driver = dra_live.driver
    chosen, node = unprepared.choices(dra_live), driver.nodes()[0]
    with driver.without_plugin():
        claims = [dra_live.claim(each.ask) for each in chosen]
        pods = [dra_live.pod_with(each, node=node) for each in claims]
        for claim, pod, each in zip(claims, pods, chosen, strict=True):
            unprepared.must_be_allocated(dra_live, claim)
            want = "on a device that skips both node operations, while no plugin runs"
            dra_live.pods.must_run(pod, want=want)
            dra_live.must_see(pod, 1, probe=each.probe)
        dra_live.pods.end(*pods)


@case("LIFE-010", Level.SHOULD, live=True)
def test_life_010_extended_resource(dra_live: LiveBench) -> None:
    """extended resources of the class run and are cleaned up"""
    for name in (
        dra_live.profile.driver.extended_resource,
        implicit(dra_live.device_class),
    ):
        pod = dra_live.pod(uses=[Use(limits={name: "1"})])
        state = dra_live.pods.must_run(pod, want=f"with one {name}")
        dra_live.must_see(pod, 1)
        claim = state["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
        dra_live.pods.end(pod)
        dra_live.claims.must_go(claim)


@case("LIFE-012", Level.MUST, live=True)
def test_life_012_no_overlap(dra_live: LiveBench) -> None:
    """a successor never overlaps a force-deleted pod"""
    for number in range(1, TRIES + 1):
        file = f"{STAMPS}/{dra_live.namespace}-{number}"
        first = _telling(dra_live, "first", file)
        dra_live.pods.must_run(first)
        dra_live.pods.delete(first, grace_s=0)
        second = _telling(dra_live, "second", file)
        want = f"on the device of {first}, deleted by force"
        dra_live.pods.must_run(second, want=want)
        told = dra_live.pods.run_in(second, ["cat", file])
        dra_live.pods.run_in(second, ["sh", "-c", f"rm -f {file} 2>/dev/null || : > {file}"])
        warned = dra_live.pods.warnings(second)
        overlaps.must_not_overlap(str(first), str(second), told, warnings=warned)
        if overlaps.was_refused(warned):
            return
        dra_live.pods.end(second)


def _telling(bench: LiveBench, name: str, file: str) -> Pod:
    """A pod on the pinned device that writes the node's uptime into a file of the node."""
    command = ("sh", "-c", TELLING.format(name=name, file=file))
    use = Use(
        name=CONTAINER, claims=((CLAIM, None),), command=command, mounts={STAMPS: NODE_FOLDER}
    )
    claim = bench.claim(bench.ask(pinned=True))
    return bench.pod(claims={CLAIM: claim}, uses=[use])

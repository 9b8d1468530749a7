"""Control loops and their threads."""

from __future__ import annotations

import threading

from pytest_dra.api.resources import LEASES
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.controllers import looping
from pytest_dra.controllers.looping import Background
from pytest_dra.controllers.looping import ControlLoop
from pytest_dra.kube import CONFLICT
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from tests.controllers.sample import eventually


class Counting(ControlLoop):
    """Counts its rounds; the first ones fail."""

    failing = 0
    rounds = 0

    def round(self) -> float | None:
        self.rounds += 1
        if self.rounds <= self.failing:
            raise KubeError("the version has changed", code=CONFLICT)
        return None


def test_a_loop_looks_again_after_each_change_and_each_failure(
    cluster: EmbeddedCluster,
) -> None:
    loop = Counting(cluster.admin(), [LEASES])
    loop.failing = 2
    with Background([loop]) as background:
        eventually(lambda: loop.rounds > loop.failing)
        before = loop.rounds
        lease = {"metadata": {"name": "one"}, "spec": {}}
        cluster.admin().create(LEASES, lease, namespace="default")
        eventually(lambda: loop.rounds > before and loop.objects(LEASES))
        loop.wake()
        eventually(lambda: loop.rounds > before + 1)
    assert background.failures == []
    assert loop.stopped


def test_namespaces_that_are_not_meant_are_not_seen(client: Client) -> None:
    for namespace in ("default", "kube-system"):
        lease = {"metadata": {"name": "one"}, "spec": {}}
        client.create(LEASES, lease, namespace=namespace)
    loop = Counting(client, [LEASES], within=lambda name: name == "default")
    with Background([loop]):
        (found,) = eventually(lambda: loop.objects(LEASES))
    assert found["metadata"]["namespace"] == "default"


class Broken:
    """Ends at once."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def run(self) -> None:
        raise ValueError("no such thing")

    def stop(self) -> None:
        self.stopped.set()


def test_a_loop_that_ends_says_why() -> None:
    broken = Broken()
    with Background([broken]) as background:
        eventually(lambda: background.failures)
    assert background.failures == ["dra-Broken: ValueError: no such thing"]
    assert broken.stopped.is_set()


def test_the_soonest_of_nothing_is_nothing() -> None:
    assert looping.soonest(None, None) is None
    assert looping.soonest(None, 2.0, 1.0) == 1.0

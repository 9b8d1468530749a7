"""Where a cluster has a scheduler of its own nothing acts, and pods are still explained."""

from __future__ import annotations

from pytest_dra.allocator import rules_of
from pytest_dra.bench.allocating import KubeScheduler
from pytest_dra.bench.allocating import ReferenceScheduler
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.kube import Client
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.controllers.sample import PATIENCE_S
from tests.controllers.sample import add_claim
from tests.controllers.sample import add_pod
from tests.controllers.sample import node_of


def test_it_explains_and_leaves_pods_alone(client: Client, cluster: EmbeddedCluster) -> None:
    add_claim(client, "one")
    add_pod(client, "main", ["one"], scheduler="default-scheduler")
    rules = rules_of(cluster.version)
    with KubeScheduler(cluster, rules=rules, namespaces=("default",)) as found:
        assert "pod default/main: fits on node node-a" in found.explain("default", "main")
        assert "does not exist" in found.explain("default", "other")
        assert found.failures == []
    assert node_of(client, "main") == ""


def test_ours_beside_it_schedules_the_pods_that_ask_for_it(
    client: Client, cluster: EmbeddedCluster
) -> None:
    for name, scheduler in (("one", "dra-allocator"), ("two", "default-scheduler")):
        add_claim(client, name)
        add_pod(client, name, [name], scheduler=scheduler)
    rules = rules_of(cluster.version)
    with ReferenceScheduler(cluster, rules=rules, namespaces=("default",)) as found:
        assert found.scheduler == "dra-allocator"
        assert poll(lambda: node_of(client, "one"), Deadline.after(PATIENCE_S)) == "node-a"
        assert found.failures == []
    assert node_of(client, "two") == ""

"""Where a cluster has a scheduler of its own nothing acts, and pods are still explained."""

from __future__ import annotations

from pytest_dra.bench.allocating import KubeScheduler
from pytest_dra.bench.allocating import rules_with
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.kube import Client
from tests.controllers.sample import add_claim
from tests.controllers.sample import add_pod
from tests.controllers.sample import node_of


def test_it_explains_and_leaves_pods_alone(client: Client, cluster: EmbeddedCluster) -> None:
    add_claim(client, "one")
    add_pod(client, "main", ["one"], scheduler="default-scheduler")
    rules = rules_with(cluster.version, {})
    with KubeScheduler(cluster, rules=rules, namespaces=("default",)) as found:
        assert "pod default/main: fits on node node-a" in found.explain("default", "main")
        assert "does not exist" in found.explain("default", "other")
        assert found.failures == []
    assert node_of(client, "main") == ""

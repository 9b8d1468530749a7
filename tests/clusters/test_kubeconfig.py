"""An existing cluster is found by the user's kubeconfig, and not changed by that."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.clusters import contexts
from pytest_dra.clusters import kubeconfig
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.kubeconfig import KubeconfigCluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.embedded import certificates
from pytest_dra.launch import Keeper
from pytest_dra.spec import UnsupportedEnvironment
from tests.clusters.embeddedcluster import embedded
from tests.clusters.embeddedcluster import unreachable
from tests.clusters.started import started

__all__ = ["embedded"]


def test_it_says_what_it_is_and_leaves_nothing_behind(embedded: EmbeddedCluster) -> None:
    with Keeper() as keeper:
        cluster = KubeconfigCluster("", keeper=keeper)
        cluster.start()
        copy = cluster.admin_kubeconfig()
        assert cluster.facts.context == "embedded"
        assert cluster.facts.version.startswith("v1.36")
        assert not cluster.ours
        assert not cluster.load("image:1")
        cluster.stop()
        cluster.stop()
        assert not copy.parent.exists()


def test_its_nodes_let_nobody_in(embedded: EmbeddedCluster) -> None:
    with pytest.raises(UnsupportedEnvironment, match="lets nobody run commands"):
        KubeconfigCluster("", keeper=None).on_node("node", ["true"], timeout_s=1)


def test_a_context_that_is_not_there_is_told_with_those_that_are(
    embedded: EmbeddedCluster,
) -> None:
    with pytest.raises(ClusterError, match=r"^no context 'prod' in .*; it has embedded$"):
        KubeconfigCluster("prod", keeper=None).start()


def test_a_server_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(unreachable(tmp_path)))
    cluster = KubeconfigCluster("away", keeper=None)
    with pytest.raises(ClusterError, match=r"^context away: http://127\.0\.0\.1:9.* cannot be rea"):
        cluster.start()
    cluster.stop()


def test_a_server_without_dra_is_told(
    embedded: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubeconfig, "served", lambda client, version: [])
    cluster = KubeconfigCluster("", keeper=None)
    with pytest.raises(ClusterError, match=r"serves no resource\.k8s\.io/v1: want Kubernetes 1\.3"):
        cluster.start()
    cluster.stop()


def test_a_pod_finds_its_cluster_without_a_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not certificates.available():
        pytest.skip(certificates.MISSING)
    with started() as cluster:
        account = tmp_path / "account"
        account.mkdir()
        variables = cluster.driver_account(account, instance="main", node="node-a")
        monkeypatch.setattr(contexts, "found", partial(contexts.found, account=account))
        environ = {**variables, "KUBECONFIG": str(tmp_path / "missing")}
        found = KubeconfigCluster("", keeper=None, environ=environ)
        found.start()
        assert found.facts.context == "in-cluster"
        assert found.facts.server.startswith("https://")
        assert found.admin().list(RESOURCE_SLICES) == []
        found.stop()

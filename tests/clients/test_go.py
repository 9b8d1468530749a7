"""client-go on the embedded server, and on a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.timeline import Timeline
from tests.clients import go_client
from tests.clients.conftest import AnyCluster

CHECKS = 24


def test_everything_that_client_go_asks_works(program: Path, cluster: AnyCluster) -> None:
    env = {"KUBECONFIG": str(cluster.admin_kubeconfig())}
    code, lines = go_client.run(program, env=env)
    assert [line for line in lines if not line.startswith("ok ")] == []
    assert (code, len(lines)) == (0, CHECKS)


@pytest.mark.parametrize("check", ["shared-informers", "metadata-informer", "custom-resources"])
def test_informers_that_list_and_watch_work(program: Path, tmp_path: Path, check: str) -> None:
    cluster = EmbeddedCluster(tmp_path, kubernetes="1.37", timeline=Timeline())
    cluster.start()
    try:
        env = {
            "KUBECONFIG": str(cluster.admin_kubeconfig()),
            "KUBE_FEATURE_WatchListClient": "false",
        }
        assert go_client.run(program, "-only", check, env=env) == (0, [f"ok {check}"])
    finally:
        cluster.stop()


@pytest.mark.parametrize("watch_list", ["true", "false"])
def test_an_informer_whose_version_has_been_forgotten_lists_anew(
    program: Path, tmp_path: Path, watch_list: str
) -> None:
    cluster = EmbeddedCluster(tmp_path, kubernetes="1.37", timeline=Timeline())
    cluster.start()
    try:
        env = {
            "KUBECONFIG": str(cluster.admin_kubeconfig()),
            "KUBE_FEATURE_WatchListClient": watch_list,
        }
        check = "relist-after-410"
        with cluster.trouble().short_history(0):
            answer = go_client.run(program, "-forgets", "-only", check, env=env)
        assert answer == (0, [f"ok {check}"])
    finally:
        cluster.stop()

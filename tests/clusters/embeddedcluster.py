"""The embedded server as somebody's cluster, and its kubeconfig as the environment has it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.embedded.kubeconfig import write_kubeconfig
from pytest_dra.timeline import Timeline


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedCluster]:
    """A server whose administrator's kubeconfig is the user's."""
    with tempfile.TemporaryDirectory(prefix="dra-", dir="/tmp") as folder:
        cluster = EmbeddedCluster(Path(folder), kubernetes="1.36", timeline=Timeline())
        cluster.start()
        monkeypatch.setenv("KUBECONFIG", str(cluster.admin_kubeconfig()))
        try:
            yield cluster
        finally:
            cluster.stop()


def unreachable(folder: Path) -> Path:
    """A kubeconfig of a server that is not there."""
    file = folder / "unreachable"
    write_kubeconfig(file, server="http://127.0.0.1:9", token="t", context="away")
    return file

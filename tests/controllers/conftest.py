"""An embedded cluster for controllers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.kube import Client
from pytest_dra.timeline import Timeline
from tests.controllers.sample import fill


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with tempfile.TemporaryDirectory(prefix="dra-", dir="/tmp") as directory:
        made = EmbeddedCluster(Path(directory), kubernetes="1.37", timeline=Timeline())
        made.start()
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture
def client(cluster: EmbeddedCluster) -> Iterator[Client]:
    admin = cluster.admin()
    fill(admin)
    yield admin
    admin.close()

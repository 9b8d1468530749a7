"""An embedded cluster for controllers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.kube import Client
from tests.clusters.started import started
from tests.controllers.sample import fill


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with started() as made:
        yield made


@pytest.fixture
def client(cluster: EmbeddedCluster) -> Iterator[Client]:
    admin = cluster.admin()
    fill(admin)
    yield admin
    admin.close()

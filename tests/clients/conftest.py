"""The servers that clients ask: the embedded one, and a real one where its programs are."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes import config

from pytest_dra.clusters.apiserver import ApiServerCluster
from pytest_dra.clusters.binaries import BinariesError
from pytest_dra.clusters.binaries import find_binaries
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.timeline import Timeline
from tests.clients import go_client
from tests.clusters.started import started

kube: Any = client
loading: Any = config
"""The Python client, whose types are looser than its checks at run time."""

AnyCluster = EmbeddedCluster | ApiServerCluster


def python_client(cluster: AnyCluster) -> Any:
    """An ``ApiClient`` with all rights; a context manager."""
    configuration = kube.Configuration()
    loading.load_kube_config(str(cluster.admin_kubeconfig()), client_configuration=configuration)
    return kube.ApiClient(configuration)


@pytest.fixture(scope="module")
def embedded() -> Iterator[EmbeddedCluster]:
    """A new embedded server for each module: its clients want it empty."""
    with started() as made:
        yield made


@pytest.fixture(scope="module")
def real() -> Iterator[ApiServerCluster]:
    """A real one."""
    try:
        binaries = find_binaries()
    except BinariesError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(prefix="dra-", dir="/tmp") as directory:
        made = ApiServerCluster(
            Path(directory),
            kubernetes=f"1.{binaries.minor}",
            timeline=Timeline(),
            binaries=binaries,
        )
        made.start()
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="session")
def program() -> Iterator[Path]:
    """The program, built."""
    go = go_client.find()
    if go is None:
        pytest.skip("there is no go on PATH to build a program on client-go with")
    with tempfile.TemporaryDirectory(prefix="dra-go-") as directory:
        built = Path(directory) / "go-client"
        try:
            go_client.build(go, built)
        except go_client.NoModulesError as error:
            pytest.skip(str(error))
        yield built


@pytest.fixture(params=["embedded", "real"])
def cluster(request: pytest.FixtureRequest) -> AnyCluster:
    """Each of both."""
    found: AnyCluster = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def api(cluster: AnyCluster) -> Iterator[Any]:
    """The Python client with all rights."""
    with python_client(cluster) as made:
        yield made


@pytest.fixture
def namespace(api: Any) -> str:
    """A namespace for one test."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    kube.CoreV1Api(api).create_namespace({"metadata": {"name": name}})
    return name

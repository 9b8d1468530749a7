"""A real API server for the tests of this folder, where its programs are on the machine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.clusters.apiserver import ApiServerCluster
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.clusters.binaries import BinariesError
from pytest_dra.clusters.binaries import find_binaries
from pytest_dra.timeline import Timeline
from tests.plugin.conftest import byte_code
from tests.plugin.conftest import runs

__all__ = ["byte_code", "runs"]


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The programs that KUBEBUILDER_ASSETS names."""
    try:
        return find_binaries()
    except BinariesError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def timeline() -> Timeline:
    """What the proxy records."""
    return Timeline()


@pytest.fixture(scope="session")
def cluster(binaries: Binaries, timeline: Timeline) -> Iterator[ApiServerCluster]:
    """One for all tests: it takes seconds to start."""
    with tempfile.TemporaryDirectory(prefix="dra-", dir="/tmp") as directory:
        made = ApiServerCluster(
            Path(directory),
            kubernetes=f"1.{binaries.minor}",
            timeline=timeline,
            binaries=binaries,
            gates={"DRADerivedAttributes": True, "DRAWorkloadResourceClaims": True},
        )
        made.start()
        try:
            yield made
        finally:
            made.stop()

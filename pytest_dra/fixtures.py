"""Fixtures for a user's own tests: a cluster, a running driver, a bench, a namespace.

They work without any option too: then the driver is the bundled fake driver and the cluster the
embedded one. Nothing heavy is imported before a test asks for one of them.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_dra.bench import Bench
    from pytest_dra.bench import Instance
    from pytest_dra.clusters.protocol import Cluster
    from pytest_dra.session import Session


@pytest.fixture(scope="session")
def dra_session(pytestconfig: pytest.Config) -> Iterator[Session]:
    """The run's session: of the driver under test, or of the fake driver where none is named."""
    from pytest_dra.running import Run
    from pytest_dra.running import fake_settings

    active = next(
        (
            plugin.run
            for plugin in [pytestconfig.pluginmanager.get_plugin("dra-case-runner")]
            if plugin
        ),
        None,
    )
    if active is not None:
        yield active.session
        return
    run = Run.prepare(fake_settings(), command_line=(), writes_report=False)
    try:
        yield run.session
    finally:
        run.close()


@pytest.fixture(scope="session")
def dra_bench(dra_session: Session) -> Bench:
    """The bench round the driver; the driver is started when the bench is first used."""
    return dra_session.bench


@pytest.fixture(scope="session")
def dra_cluster(dra_session: Session) -> Cluster:
    """The cluster of the run, started, without a driver: clients and a kubeconfig."""
    return dra_session.cluster


@pytest.fixture(scope="session")
def dra_driver(dra_bench: Bench) -> Instance:
    """The driver under test: started, registered, its slices published."""
    instance = dra_bench.instance
    instance.plugin()
    instance.wait_published()
    return instance


@pytest.fixture
def dra_namespace(dra_cluster: Cluster) -> Iterator[str]:
    """A namespace of its own for one test, deleted at its end."""
    from pytest_dra.api.resources import NAMESPACES

    name = f"dra-test-{secrets.token_hex(3)}"
    dra_cluster.admin().create(NAMESPACES, {"metadata": {"name": name}})
    try:
        yield name
    finally:
        dra_cluster.admin().delete(NAMESPACES, name)

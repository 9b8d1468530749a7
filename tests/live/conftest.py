"""A cluster without nodes, on which the tests play kubelet and scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dra.api import resources
from pytest_dra.kube import Client
from pytest_dra.profile.model import Budgets
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.clusters.started import started

BUDGETS = Budgets(pod=0.5, release=0.5)

NAMESPACE = "dra-test"


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with started() as cluster:
        admin = cluster.admin()
        yield admin
        admin.close()


@pytest.fixture
def namespace(client: Client) -> Iterator[str]:
    client.create(resources.NAMESPACES, {"metadata": {"name": NAMESPACE}})
    poll(lambda: client.list(resources.SERVICE_ACCOUNTS, namespace=NAMESPACE), Deadline.after(20.0))
    yield NAMESPACE
    for resource in (
        resources.PODS,
        resources.RESOURCE_CLAIMS,
        resources.RESOURCE_CLAIM_TEMPLATES,
        resources.EVENTS,
    ):
        client.delete_collection(resource, namespace=NAMESPACE)
    client.delete(resources.NAMESPACES, NAMESPACE)


def container_status(name: str, **state: Any) -> dict[str, Any]:
    """The status of a container that is in a state."""
    return {"name": name, "state": state, "containerID": f"x://{name}", "restartCount": 0}

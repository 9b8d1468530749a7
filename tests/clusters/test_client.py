"""The client of the suite's own identity beside pytest, which changes the environment."""

from __future__ import annotations

import pytest

from pytest_dra.api.resources import NAMESPACES
from pytest_dra.kube import Client
from tests.clusters.started import started


def refused(*_: object) -> dict[str, str]:
    raise AssertionError("the environment was read")


def test_requests_with_a_token_do_not_read_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with started() as cluster:
        client = Client(cluster.admin_kubeconfig())
        monkeypatch.setattr("kubernetes.client.configuration.getproxies", refused, raising=False)
        try:
            assert "default" in {each["metadata"]["name"] for each in client.list(NAMESPACES)}
        finally:
            client.close()

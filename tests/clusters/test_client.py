"""The client of the suite's own identity beside pytest, which changes the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_dra.api.resources import NAMESPACES
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
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


def test_a_token_that_was_renewed_is_read_again(tmp_path: Path) -> None:
    with started() as cluster:
        known = yaml.safe_load(cluster.admin_kubeconfig().read_text("utf-8"))
        token = tmp_path / "token"
        token.write_text("not yet", "ascii")
        user = known["users"][0]
        right, user["user"] = user["user"]["token"], {"tokenFile": str(token)}
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump(known), "utf-8")
        client = Client(file, token_file=token)
        try:
            with pytest.raises(KubeError) as caught:
                client.list(NAMESPACES)
            assert caught.value.code == 401
            token.write_text(f"{right}\n", "ascii")
            assert client.list(NAMESPACES)
            token.unlink()
            assert client.list(NAMESPACES)
        finally:
            client.close()

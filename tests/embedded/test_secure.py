"""HTTPS, and the configuration that a program in a pod finds."""

from __future__ import annotations

import http.client
import ssl
import stat
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client as kube
from kubernetes.config.incluster_config import InClusterConfigLoader

from pytest_dra.clusters.embedded import DRIVERS
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.protocol import Accounts
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.embedded import certificates
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Timeline

pytestmark = pytest.mark.skipif(
    not certificates.available(), reason="certificates are made by openssl"
)

TIMEOUT_S = 10.0


@pytest.fixture
def timeline() -> Timeline:
    """What the server records."""
    return Timeline()


@pytest.fixture
def cluster(tmp_path: Path, timeline: Timeline) -> Iterator[EmbeddedCluster]:
    """A running cluster."""
    made = EmbeddedCluster(tmp_path, kubernetes="1.37", timeline=timeline)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """Where the files of a pod's ServiceAccount go."""
    directory = tmp_path / "account"
    directory.mkdir()
    return directory


def test_the_client_of_a_pod_finds_its_cluster(
    cluster: EmbeddedCluster, account: Path, timeline: Timeline
) -> None:
    assert isinstance(cluster, Accounts)
    env = cluster.driver_account(account, instance="main", node="node-a")
    make: Any = InClusterConfigLoader
    loader = make(
        token_filename=str(account / "token"),
        cert_filename=str(account / "ca.crt"),
        environ=dict(env),
    )
    configuration = kube.Configuration()
    loader.load_and_set(configuration)
    with kube.ApiClient(configuration) as api:
        found = kube.CoreV1Api(api).list_namespace()
    assert "default" in [one.metadata.name for one in found.items if one.metadata]
    asked = timeline.entries(ApiRequest)[-1].event
    assert asked.identity == f"{DRIVERS}main"


def test_the_files_are_those_of_a_pod(cluster: EmbeddedCluster, account: Path) -> None:
    cluster.driver_account(account, instance="main", node="node-a")
    assert sorted(path.name for path in account.iterdir()) == ["ca.crt", "namespace", "token"]
    assert (account / "namespace").read_text() == "default"
    assert stat.S_IMODE((account / "token").stat().st_mode) == 0o600


def test_the_port_stays_and_each_account_has_its_own_token(
    cluster: EmbeddedCluster, account: Path
) -> None:
    first = cluster.driver_account(account, instance="main", node="node-a")
    token = (account / "token").read_text()
    assert cluster.driver_account(account, instance="other", node="node-b") == first
    assert (account / "token").read_text() != token


def _get(url: str, authority: Path | None, name: str = "127.0.0.1") -> int:
    context = ssl.create_default_context(cafile=authority)
    port = urllib.parse.urlsplit(url).port
    link = http.client.HTTPSConnection(name, port, context=context, timeout=TIMEOUT_S)
    try:
        link.request("GET", "/version")
        return link.getresponse().status
    finally:
        link.close()


def test_the_certificate_is_of_its_authority_and_for_its_names(
    cluster: EmbeddedCluster, account: Path
) -> None:
    env = cluster.driver_account(account, instance="main", node="node-a")
    url = f"https://127.0.0.1:{env['KUBERNETES_SERVICE_PORT']}"
    assert _get(url, account / "ca.crt") == 200
    assert _get(url, account / "ca.crt", "localhost") == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        _get(url, None)


def test_an_unreachable_server_is_so_over_https_too(
    cluster: EmbeddedCluster, account: Path
) -> None:
    env = cluster.driver_account(account, instance="main", node="node-a")
    url = f"https://127.0.0.1:{env['KUBERNETES_SERVICE_PORT']}"
    with cluster.trouble().unreachable(), pytest.raises(ConnectionError):
        _get(url, account / "ca.crt")
    assert _get(url, account / "ca.crt") == 200


def test_without_openssl_it_says_what_to_do(
    cluster: EmbeddedCluster, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(account))
    with pytest.raises(ClusterError, match="install it"):
        cluster.driver_account(account, instance="main", node="node-a")


def test_no_private_key_of_the_authority_is_left(tmp_path: Path) -> None:
    made = certificates.make_certificates(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.crt", "tls.crt", "tls.key"]
    assert stat.S_IMODE(made.key.stat().st_mode) == 0o600

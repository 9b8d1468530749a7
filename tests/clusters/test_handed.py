"""A cluster that the tests have already is handed over by one fixture."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_dra import handing
from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.handed import HandedCluster
from pytest_dra.clusters.handed import kubeconfig_of
from pytest_dra.clusters.handed import loader_of
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.options import resolve
from tests.clusters.started import started
from tests.clusters.stubs import Stub

NAME = "dra-handed"

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def dra_existing_cluster():
    return {given!r}
"""

TEST = """
def test_it(dra_cluster):
    assert dra_cluster.provider == "kubeconfig"
    assert dra_cluster.admin().server_version().startswith("v1.")
"""


class OfPytestKind:
    """What is used of its cluster."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig_path = kubeconfig
        self.loaded: list[str] = []

    def load_docker_image(self, image: str) -> None:
        if image == "broken:1":
            raise subprocess.CalledProcessError(1, ["kind", "load"])
        self.loaded.append(image)


def test_a_path_and_a_cluster_object_have_a_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "config"
    assert kubeconfig_of(file) == kubeconfig_of(str(file)) == kubeconfig_of(OfPytestKind(file))
    assert loader_of(file) is None


def test_a_plan_for_it_leaves_the_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent/of-the-user")
    seen: list[tuple[str, str]] = []

    def plan_of(settings: Settings, *, calls: object) -> object:
        changed = settings.instead("dra_driver", "x").with_profile({"dra_driver_name": "y"})
        seen.append((changed.for_fixtures().environ["KUBECONFIG"], os.environ["KUBECONFIG"]))
        raise ClusterError("far enough")

    monkeypatch.setattr(handing, "plan_of", plan_of)
    settings = resolve(flag={"dra_driver": "fake"}.get, ini=lambda _: None, environ={})
    with pytest.raises(OptionError, match="far enough"):
        handing.session_on(tmp_path / "config", settings, calls={})
    assert seen == [(str(tmp_path / "config"), "/nonexistent/of-the-user")]


def test_what_has_none_is_told_what_is_wanted() -> None:
    with pytest.raises(ClusterError, match="got object, want the path of a kubeconfig"):
        kubeconfig_of(object())


def test_its_own_way_to_load_images_is_used_for_those_of_the_engine(tmp_path: Path) -> None:
    body = "sys.exit(any('missing' in word for word in words))\n"
    engine = Engine(Stub(tmp_path, "docker", body).program)
    given = OfPytestKind(tmp_path / "config")
    cluster = HandedCluster(given, engine=engine, keeper=None)
    assert cluster.load("driver:1")
    assert not cluster.load("missing:1")
    assert given.loaded == ["driver:1"]
    with pytest.raises(ClusterError, match="broken:1 cannot be loaded"):
        cluster.load("broken:1")
    assert not HandedCluster(tmp_path / "config", engine=engine, keeper=None).load("driver:1")


def test_the_fixtures_use_what_one_fixture_hands_over(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent/of-the-user")
    with started() as cluster:
        pytester.makeconftest(CONFTEST.format(given=str(cluster.admin_kubeconfig())))
        pytester.makepyfile(TEST)
        pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_what_pytest_kind_has_made_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package: Any = pytest.importorskip("pytest_kind")
    monkeypatch.chdir(tmp_path)
    found = package.KindCluster(NAME, tmp_path / "config")
    assert kubeconfig_of(found) == tmp_path / "config"
    assert loader_of(found) == found.load_docker_image


def test_what_pytest_kubernetes_has_made_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package: Any = pytest.importorskip("pytest_kubernetes.providers")
    Stub(tmp_path, "kind")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = package.select_provider_manager("kind")(NAME)
    with pytest.raises(ClusterError, match="that has been created"):
        kubeconfig_of(found)
    found._cluster_options.kubeconfig_path = tmp_path / "config"
    assert kubeconfig_of(found) == tmp_path / "config"
    assert loader_of(found) == found.load_image

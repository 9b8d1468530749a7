"""A kind cluster is made for a run, or found, and deleted whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.kind import KindCluster
from pytest_dra.clusters.kind import KindSettings
from pytest_dra.clusters.kindrecords import KindRecords
from pytest_dra.clusters.kindtool import KindTool
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch import Keeper
from tests.clusters.stubs import Stub
from tests.clusters.stubs import said
from tests.launch.conftest import soon

KIND = """
if words == ["version"]:
    print("kind v0.33.0")
elif words == ["get", "clusters"]:
    print("mine\\nother")
elif words[0] == "create" and os.environ.get("STUB_FAILS"):
    sys.exit(7)
"""

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def kind(tmp_path: Path) -> Stub:
    return Stub(tmp_path, "kind", KIND)


@pytest.fixture
def docker(tmp_path: Path) -> Stub:
    return Stub(tmp_path, "docker", "sys.exit(words[-1] == 'elsewhere:1')")


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    with Keeper() as made:
        yield made


@pytest.fixture(autouse=True)
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KindRecords:
    """Where clusters are written down, in a folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return KindRecords()


def cluster(settings: KindSettings, kind: Stub, docker: Stub, keeper: Keeper) -> KindCluster:
    engine = Engine(docker.program)
    tool = KindTool(kind.program, engine)
    return KindCluster(settings, tool=tool, engine=engine, keeper=keeper)


def verbs(kind: Stub) -> list[str]:
    return [" ".join(call[:2]) for call in kind.calls()]


def test_a_cluster_of_the_run_is_created_and_deleted_once(
    kind: Stub, docker: Stub, keeper: Keeper, records: KindRecords
) -> None:
    settings = KindSettings(nodes=2, feature_gates={"A": True}, runtime_config={"a/v1": "true"})
    made = cluster(settings, kind, docker, keeper)
    made.start()
    folder = made.admin_kubeconfig().parent
    owner = records.owner(made.name)
    assert owner is not None
    assert owner.pid == os.getpid()
    config = yaml.safe_load((folder / "kind.yaml").read_text())
    assert config["featureGates"] == {"A": True}
    assert config["runtimeConfig"] == {"a/v1": "true"}
    made.stop()
    made.stop()
    keeper.close()
    assert verbs(kind) == ["version", "create cluster", "delete cluster"]
    name = made.name
    assert name.startswith("pytest-dra-")
    assert all(name in call for call in kind.calls()[1:])
    assert not folder.exists()
    assert records.known() == []


def test_one_whose_creation_fails_is_deleted_by_the_keeper(
    kind: Stub, docker: Stub, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_FAILS", "yes")
    made = cluster(KindSettings(), kind, docker, keeper)
    with pytest.raises(ClusterError, match="failed with status 7"):
        made.start()
    keeper.close()
    assert verbs(kind)[-1] == "delete cluster"


def test_one_that_is_kept_stays_and_no_cleanup_knows_it(
    kind: Stub, docker: Stub, keeper: Keeper, records: KindRecords
) -> None:
    made = cluster(KindSettings(keep=True), kind, docker, keeper)
    made.start()
    assert records.known() == []
    assert made.ours
    assert not made.ends
    made.stop()
    keeper.close()
    assert verbs(kind) == ["version", "create cluster"]


def test_one_that_is_reused_is_found_and_stays(kind: Stub, docker: Stub, keeper: Keeper) -> None:
    made = cluster(KindSettings(reuse="mine"), kind, docker, keeper)
    made.start()
    assert not made.ours
    made.stop()
    keeper.close()
    assert verbs(kind) == ["version", "get clusters", "export kubeconfig"]


def test_one_that_is_not_there_cannot_be_reused(kind: Stub, docker: Stub, keeper: Keeper) -> None:
    made = cluster(KindSettings(reuse="lost"), kind, docker, keeper)
    told = r"^--dra-reuse=lost: .* it has mine, other\. With --dra-keep it is made"
    with pytest.raises(ClusterError, match=told):
        made.start()


def test_one_that_is_to_be_kept_is_made_under_the_name_by_which_it_is_reused(
    kind: Stub, docker: Stub, keeper: Keeper
) -> None:
    for name, made_now in (("new", True), ("mine", False)):
        made = cluster(KindSettings(reuse=name, keep=True), kind, docker, keeper)
        made.start()
        assert made.name == name
        assert made.ours == made_now
        assert not made.ends
        made.stop()
    keeper.close()
    found = ["version", "get clusters"]
    assert verbs(kind) == [*found, "create cluster", *found, "export kubeconfig"]
    assert "new" in kind.calls()[2]


@pytest.mark.parametrize("name", ["Upper", "-begins", "ends-", "x" * 51, "a b"])
def test_a_new_one_has_a_name_that_kind_takes(
    name: str, kind: Stub, docker: Stub, keeper: Keeper
) -> None:
    with pytest.raises(ClusterError, match="no name for a new cluster"):
        cluster(KindSettings(reuse=name, keep=True), kind, docker, keeper).start()
    assert verbs(kind) == ["version", "get clusters"]


def test_without_an_engine_nothing_is_asked_of_kind(
    kind: Stub, tmp_path: Path, keeper: Keeper
) -> None:
    docker = Stub(tmp_path, "docker", said(1, err="no daemon"))
    with pytest.raises(ClusterError, match=r"^docker does not answer: no daemon"):
        cluster(KindSettings(), kind, docker, keeper).start()
    assert kind.calls() == []


def test_an_image_that_the_engine_has_is_loaded(kind: Stub, docker: Stub, keeper: Keeper) -> None:
    made = cluster(KindSettings(), kind, docker, keeper)
    assert made.load("here:1")
    assert not made.load("elsewhere:1")
    assert verbs(kind) == ["load docker-image"]


def test_the_cluster_is_deleted_when_pytest_is_killed(
    kind: Stub, docker: Stub, tmp_path: Path
) -> None:
    code = (
        "import sys, threading\n"
        "from pytest_dra.clusters.engine import Engine\n"
        "from pytest_dra.clusters.kind import KindCluster, KindSettings\n"
        "from pytest_dra.clusters.kindtool import KindTool\n"
        "from pytest_dra.launch import Keeper\n"
        "keeper = Keeper(); keeper.start()\n"
        "engine = Engine(sys.argv[2]); tool = KindTool(sys.argv[1], engine)\n"
        "KindCluster(KindSettings(), tool=tool, engine=engine, keeper=keeper).start()\n"
        "print('up', flush=True)\n"
        "threading.Event().wait(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, kind.program, docker.program],
        stdout=subprocess.PIPE,
        cwd=PROJECT,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        os.kill(parent.pid, signal.SIGKILL)
    soon(lambda: verbs(kind)[-1] == "delete cluster")

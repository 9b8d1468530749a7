"""What is asked of the kind command, and what is told when it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.clusters import kindtool
from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.kindtool import KindTool
from pytest_dra.clusters.kindtool import find_kind
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch import Keeper
from tests.clusters.stubs import Stub
from tests.clusters.stubs import said

FINE = "kind v0.33.0 go1.26.0 linux/amd64\n"


def tool(stub: Stub, engine: str = "docker") -> KindTool:
    return KindTool(stub.program, Engine(engine))


def create(stub: Stub, *, folder: Path, image: str = "", engine: str = "/no/docker") -> None:
    """Let the command make a cluster."""
    with Keeper() as keeper:
        tool(stub, engine).create(
            "c",
            image=image,
            config=Path("/c.yaml"),
            kubeconfig=Path("/k"),
            keeper=keeper,
            log=folder / "kind.log.txt",
        )


def test_a_cluster_is_created_with_its_own_kubeconfig_and_waited_for(tmp_path: Path) -> None:
    stub = Stub(tmp_path, "kind")
    create(stub, image="node:1", folder=tmp_path)
    assert stub.calls() == [
        [
            *("create", "cluster", "--name", "c", "--config", "/c.yaml", "--kubeconfig", "/k"),
            *("--retain", "--image", "node:1", "--wait", "180s"),
        ]
    ]


def test_without_an_image_kind_takes_its_own(tmp_path: Path) -> None:
    stub = Stub(tmp_path, "kind")
    create(stub, folder=tmp_path)
    assert "--image" not in stub.calls()[0]


def test_images_nodes_and_the_end_name_the_cluster(tmp_path: Path) -> None:
    stub = Stub(tmp_path, "kind", "print('c-control-plane c-worker')")
    asked = tool(stub)
    asked.load_image("c", "driver:1")
    asked.load_archive("c", Path("/driver.tar"))
    asked.write_kubeconfig("c", Path("/k"))
    assert asked.nodes("c") == ["c-control-plane", "c-worker"]
    asked.delete("c", Path("/k"))
    assert stub.calls() == [
        ["load", "docker-image", "driver:1", "--name", "c"],
        ["load", "image-archive", "/driver.tar", "--name", "c"],
        ["export", "kubeconfig", "--name", "c", "--kubeconfig", "/k"],
        ["get", "nodes", "--name", "c"],
        ["delete", "cluster", "--name", "c", "--kubeconfig", "/k"],
    ]


@pytest.mark.parametrize(("engine", "provider"), [("docker", None), ("/opt/podman", "podman")])
def test_kind_is_told_of_podman_and_not_of_docker(
    engine: str, provider: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(kindtool.PROVIDER, raising=False)
    stub = Stub(tmp_path, "kind")
    tool(stub, engine).clusters()
    assert [each.get(kindtool.PROVIDER) for each in stub.environments()] == [provider]


def test_what_kind_says_in_trouble_is_told_with_what_to_do(tmp_path: Path) -> None:
    text, remedy = "write /var/lib/x: no space left on device", "the disk is full"
    stub = Stub(tmp_path, "kind", said(1, err=f"ERROR: {text}\n"))
    with pytest.raises(ClusterError) as caught:
        create(stub, folder=tmp_path)
    told = str(caught.value)
    assert text in told
    assert "failed with status 1" in told
    assert remedy in told.partition("What to do: ")[2]


def test_of_kubeadms_output_stays_why_it_failed() -> None:
    output = Path(__file__).with_name("said").joinpath("cgroup-v1.kind").read_text("utf-8")
    lines = kindtool.essence(output).splitlines()
    assert lines[-1].startswith("error: error execution phase wait-control-plane: cannot obtain")
    assert lines[-1].endswith("connect: connection refused")
    (first,) = [line for line in lines if line.startswith("ERROR: failed to create cluster: ")]
    assert "kubeadm init" in first
    assert len(lines) < 12
    found = kindtool.essence("\t[ERROR Port-6443]: Port 6443 is in use\n")
    assert found == "[ERROR Port-6443]: Port 6443 is in use"


def test_the_nodes_of_one_that_fails_say_why_and_are_deleted(tmp_path: Path) -> None:
    kind = Stub(tmp_path, "kind", "sys.exit(words[0] == 'create')")
    docker = Stub(
        tmp_path,
        "docker",
        "if words[0] == 'ps': print(json.dumps({'Names': 'c-control-plane', 'Labels': ''}))\n"
        "elif words[0] == 'logs': sys.exit(1)\n"
        "else: print(words[-1], '\\x1b[0;31minotify_init: too many open files\\x1b[0m')\n",
    )
    with pytest.raises(ClusterError, match="What to do: raise the limits of inotify") as caught:
        create(kind, folder=tmp_path, engine=docker.program)
    assert caught.value.logs.splitlines() == [
        "--- c-control-plane: kubelet",
        "--unit=kubelet inotify_init: too many open files",
        "--- c-control-plane: containerd",
        "--unit=containerd inotify_init: too many open files",
    ]
    assert docker.calls()[0][:4] == ["ps", "--all", "--filter", "label=io.x-k8s.kind.cluster=c"]
    assert kind.calls()[1:] == [["delete", "cluster", "--name", "c", "--kubeconfig", "/k"]]


def test_trouble_that_nobody_knows_is_told_as_it_is(tmp_path: Path) -> None:
    stub = Stub(tmp_path, "kind", said(3, err="the moon is full"))
    with pytest.raises(ClusterError) as caught:
        tool(stub).clusters()
    assert str(caught.value).endswith("get clusters failed with status 3: the moon is full")


def test_a_kind_that_hangs_is_ended_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kindtool, "DELETE_S", 0.3)
    stub = Stub(tmp_path, "kind", "time.sleep(60)")
    with pytest.raises(ClusterError, match=r"delete cluster has not ended after 0\.3 s$"):
        tool(stub).delete("c", Path("/k"))


@pytest.mark.parametrize("version", [FINE, "kind version 0.31.0\n", "something unknown\n"])
def test_a_kind_that_is_new_enough_or_says_nothing_known_is_taken(
    version: str, tmp_path: Path
) -> None:
    tool(Stub(tmp_path, "kind", said(0, out=version))).must_be_new_enough()


def test_a_kind_that_is_too_old_is_told_beforehand(tmp_path: Path) -> None:
    stub = Stub(tmp_path, "kind", said(0, out="kind v0.20.0 go1.20.4 linux/amd64\n"))
    with pytest.raises(ClusterError, match=r"^kind v0\.20\.0 .* install kind 0\.31 or newer$"):
        tool(stub).must_be_new_enough()


def test_a_kind_that_is_not_there_is_told_with_what_else_there_is() -> None:
    with pytest.raises(ClusterError, match=r"no '/no/kind' on PATH.* --dra-cluster=embedded"):
        find_kind("/no/kind", Engine("docker"))

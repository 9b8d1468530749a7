"""What is asked of the container engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.engine import find_engine
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch.tool import ToolError
from tests.clusters.stubs import Stub
from tests.clusters.stubs import said


def test_an_engine_that_does_not_answer_is_told_with_what_to_do(tmp_path: Path) -> None:
    stub = Stub(tmp_path, "docker", said(1, err="first\nCannot connect to the Docker daemon\n"))
    with pytest.raises(ClusterError, match=r"^docker does not answer: Cannot .* info' works\)$"):
        Engine(stub.program).must_answer()


def test_an_engine_has_an_image_or_not(tmp_path: Path) -> None:
    stub = Stub(tmp_path, "docker", "sys.exit(words[-1] != 'there:1')")
    engine = Engine(stub.program)
    assert engine.has_image("there:1")
    assert not engine.has_image("elsewhere:1")


def test_an_engine_that_cannot_be_run_is_no_image_that_lacks(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be run"):
        Engine(str(tmp_path / "docker")).has_image("x")


def test_an_image_is_built_of_a_folder_with_arguments(tmp_path: Path) -> None:
    stub = Stub(tmp_path, "docker")
    Engine(stub.program).build(Path("/folder"), tag="t:1", arguments={"BASE": "python:3"})
    assert stub.calls() == [
        ["build", "--tag", "t:1", "--build-arg", "BASE=python:3", "/folder"],
    ]


def podman(*listed: object) -> str:
    """A listing of Podman 4.3: one list over many lines, empty or not."""
    return json.dumps(listed, indent=4) + "\n"


def docker(*listed: object) -> str:
    """A listing of Docker 28: an object on each line."""
    return "".join(f"{json.dumps(each)}\n" for each in listed)


@pytest.mark.parametrize(
    ("name", "out"),
    [
        (
            "docker",
            docker(
                {"Names": "c-1,other", "Labels": "a=b,run=7"}, {"Names": "c-2", "Labels": "run=8"}
            ),
        ),
        (
            "podman",
            podman(
                {"Names": ["c-1"], "Labels": {"a": "b", "run": "7"}, "Pid": 3},
                {"Names": ["c-2"], "Labels": {"run": "8"}},
            ),
        ),
    ],
)
def test_containers_are_found_by_their_label_with_either_engine(
    name: str, out: str, tmp_path: Path
) -> None:
    engine = Engine(Stub(tmp_path, name, said(0, out=out)).program)
    assert engine.name == name
    assert engine.containers("run") == {"c-1": "7", "c-2": "8"}


@pytest.mark.parametrize(
    ("name", "out"),
    [
        ("docker", docker({"Name": "n-1", "Labels": "run=7"})),
        ("podman", podman({"name": "n-1", "id": "9a", "labels": {"run": "7"}})),
    ],
)
def test_networks_are_found_by_their_label_with_either_engine(
    name: str, out: str, tmp_path: Path
) -> None:
    engine = Engine(Stub(tmp_path, name, said(0, out=out)).program)
    assert engine.networks("run") == {"n-1": "7"}


@pytest.mark.parametrize(("name", "out"), [("docker", docker()), ("podman", podman())])
def test_an_engine_without_containers_has_none(name: str, out: str, tmp_path: Path) -> None:
    engine = Engine(Stub(tmp_path, name, said(0, out=out)).program)
    assert engine.containers("run") == engine.networks("run") == {}


@pytest.mark.parametrize("out", ["CONTAINER ID  IMAGE\n", "[{"])
def test_a_listing_that_cannot_be_read_is_the_engine_s_failure(out: str, tmp_path: Path) -> None:
    engine = Engine(Stub(tmp_path, "podman", said(0, out=out)).program)
    with pytest.raises(ToolError, match=r"^podman ps --all .*: got .*, want JSON$"):
        engine.containers("run")


def test_docker_comes_before_podman_and_one_that_is_named_before_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="neither docker nor podman is on PATH"):
        find_engine()
    podman = Stub(tmp_path, "podman")
    assert find_engine().program == podman.program
    docker = Stub(tmp_path, "docker")
    assert find_engine().program == docker.program
    assert find_engine("podman").program == podman.program
    with pytest.raises(ClusterError, match=r"^container engine nerdctl: not found on PATH"):
        find_engine("nerdctl")

"""No container outlives its run."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from pytest_dra.clusters.engine import DOCKER
from pytest_dra.clusters.engine import ENGINES
from pytest_dra.clusters.engine import PODMAN
from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.owner import OWNED
from pytest_dra.clusters.owner import Owner
from pytest_dra.containers import ending
from pytest_dra.containers.fleet import Fleet
from pytest_dra.containers.fleet import remove_ended
from pytest_dra.containers.fleet import user_of
from pytest_dra.launch import Keeper
from tests.clusters.stubs import Stub
from tests.clusters.stubs import said
from tests.containers.fakeengine import FakeEngine
from tests.launch.conftest import soon


@pytest.fixture(params=ENGINES)
def docker(request: pytest.FixtureRequest, tmp_path: Path) -> FakeEngine:
    return FakeEngine(tmp_path, request.param)


def begin(docker: FakeEngine, name: str, mark: str) -> subprocess.Popen[bytes]:
    argv = [docker.program, "run", f"--name={name}", f"--label={mark}", "there:1", "sleep", "60"]
    process = subprocess.Popen(argv)
    soon(lambda: name in docker.running())
    return process


def test_containers_of_ended_runs_go_and_those_of_others_stay(docker: FakeEngine) -> None:
    here = Owner.here()
    gone = dataclasses.replace(here, start="1")
    processes = [
        begin(docker, "ours", f"{OWNED}={here.label()}"),
        begin(docker, "left", f"{OWNED}={gone.label()}"),
        begin(docker, "whose", f"{OWNED}=nobody"),
    ]
    remove_ended(docker.engine)
    assert docker.running() == ["ours", "whose"]
    for name in ("ours", "whose"):
        docker.engine.remove_container(name)
    for process in processes:
        process.wait(20.0)


def test_the_keeper_removes_what_is_there_at_the_end(docker: FakeEngine, tmp_path: Path) -> None:
    fleet = Fleet(docker.engine)
    with Keeper() as keeper:
        fleet.promise(keeper)
        fleet.promise(keeper)
        process = begin(docker, "late", fleet.mark)
    assert docker.running() == []
    process.wait(20.0)


def test_removal_goes_on_until_nothing_comes_any_more(docker: FakeEngine) -> None:
    process = begin(docker, "one", f"{OWNED}=x")
    assert ending.main([docker.program, f"{OWNED}=x"]) == 0
    assert docker.running() == []
    process.wait(20.0)


def test_an_engine_that_does_not_answer_stops_no_run(tmp_path: Path) -> None:
    docker = FakeEngine(tmp_path)
    docker.path.unlink()
    remove_ended(docker.engine)


@pytest.mark.parametrize(
    ("name", "of_root", "rootless"),
    [
        (DOCKER, '["name=seccomp,profile=builtin"]', '["name=seccomp", "name=rootless"]'),
        (PODMAN, "false", "true"),
    ],
)
def test_an_ordinary_user_s_containers_run_as_that_user_where_the_engine_is_root_s(
    name: str, of_root: str, rootless: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(Stub(tmp_path, name, said(0, out=f"{of_root}\n")).program)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert user_of(engine) == ""
    monkeypatch.setattr("os.geteuid", lambda: 7)
    monkeypatch.setattr("os.getegid", lambda: 8)
    assert user_of(engine) == "7:8"
    Stub(tmp_path, name, said(0, out=f"{rootless}\n"))
    assert user_of(engine) == ""

"""An ordinary user and an engine of root: containers run as that user, and that is told."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_dra
from pytest_dra.clusters.engine import DOCKER
from pytest_dra.clusters.engine import ROOT
from pytest_dra.clusters.engine import Engine
from pytest_dra.containers.fleet import Fleet
from pytest_dra.launch.tool import ToolError
from pytest_dra.report.results import State
from pytest_dra.session import Session
from tests.containers.fakeengine import FakeEngine
from tests.containers.test_planning import planned

USER = "7:8"
RUN_S = 300.0
NOBODY = 65534
SOCKET = Path("/var/run/docker.sock")


def state(docker: FakeEngine, script: str, *, user: str) -> tuple[State, str]:
    """How a driver is judged of which each container runs a script as a user."""
    plan = planned(docker, dra_driver=f"there:1 sh -c '{script}'")
    with Session(dataclasses.replace(plan, fleet=Fleet(docker.engine, user=user))) as session:
        result = session.judge("REG-001").result
    return result.state, result.error


def test_a_driver_that_may_have_needed_root_is_not_said_to_be_at_fault(docker: FakeEngine) -> None:
    script = "echo not permitted; exit 1"
    found, told = state(docker, script, user=USER)
    assert found is State.ERRORED
    assert "exited with code 1: not permitted; containers run as 7:8, since the engine" in told
    assert "Run pytest as root, or with a rootless engine (--dra-engine)" in told
    assert state(docker, script, user="")[0] is State.FAILED


def test_a_driver_that_ends_as_if_its_work_were_done_is_at_fault(docker: FakeEngine) -> None:
    assert state(docker, "exit 0", user=USER)[0] is State.FAILED


def python_of_nobody() -> str:
    """A Python that an ordinary user can run with what is installed here; skips without one."""
    usual = shutil.which("python3", path="/usr/bin") or sys.executable
    probe = "import sys, grpc, yaml, pytest, pytest_dra; print(sys.version_info[:2])"
    try:
        done = subprocess.run(
            [usual, "-c", probe],
            user=NOBODY, group=NOBODY, extra_groups=(), env=environment(), cwd="/",
            capture_output=True, timeout=RUN_S, check=True, text=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"nobody cannot run pytest here: {error}")
    if done.stdout.strip() != str(sys.version_info[:2]):
        pytest.skip(f"{usual} is another Python")
    return usual


def environment() -> dict[str, str]:
    packages = (str(Path(pytest_dra.__file__).parents[1]), sysconfig.get_path("purelib"))
    return {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(packages)}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of nobody's, which nobody reaches."""
    if os.geteuid() != ROOT:
        pytest.skip("becomes another user")
    with tempfile.TemporaryDirectory(prefix="dra-nobody-") as made:
        os.chown(made, NOBODY, NOBODY)
        yield Path(made)


def test_an_ordinary_user_judges_with_an_engine_of_root(folder: Path) -> None:
    """The image of the fake driver; what root alone can do is unsupported-environment."""
    docker = shutil.which(DOCKER)
    if docker is None or not SOCKET.is_socket():
        pytest.skip("there is no Docker")
    try:
        listed = Engine(docker).call(["images", "--format", "{{.Repository}}:{{.Tag}}"]).split()
    except ToolError as error:
        pytest.skip(str(error))
    image = next((each for each in listed if "/dra-fake-driver:" in each), "")
    if not image:
        pytest.skip("docker has no image of the fake driver")
    group = SOCKET.stat().st_gid
    assert group != ROOT
    python = python_of_nobody()
    cases = "REG-001,SLICE-001,PREP-001,CDI-001,RST-001,UNP-007"
    done = subprocess.run(
        [
            *(python, "-m", "pytest", "-p", "no:cacheprovider", f"--dra-driver={image}"),
            *("--dra-driver-name=fake.dra.example", f"--dra-engine={docker}"),
            *(f"--dra-case={cases}", "--dra-require=partial"),
        ],
        user=NOBODY, group=NOBODY, extra_groups=[group],
        env={**environment(), "HOME": str(folder)}, cwd=folder,
        capture_output=True, timeout=RUN_S, check=False, text=True,
    )  # fmt: skip
    assert f"containers run as {NOBODY}:{NOBODY}, since the engine is root's" in done.stdout
    assert "5 passed, 1 skipped" in done.stdout, done.stdout

"""Real engines with Kubernetes' own test driver as an image; skipped where one of them is not.

Podman gets the image of Docker for the time of the tests, where it has none of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.clusters.engine import DOCKER
from pytest_dra.clusters.engine import ENGINES
from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.engine import find_engine
from pytest_dra.clusters.owner import OWNED
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import find
from tests.drivers import upstream
from tests.launch.conftest import soon

REPOSITORY = "dra-test-driver"
NAME = "test-driver.cdi.k8s.io"

RUN_S = 600.0
"""Longest run of some cases on a loaded machine."""

CHART = Path(upstream.__file__).with_name("upstream_chart")
SITE = Path(upstream.__file__).with_name("upstream_site")
ALONE = "kubelet-plugin --node-name={node}"
"""Arguments of the driver where no manifests have them."""


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    try:
        found = find_engine(request.param)
        found.must_answer()
    except ClusterError as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="module")
def image(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    name = named(engine)
    if name:
        must_run(engine, name)
        yield name
        return
    docker = find(DOCKER)
    name = named(Engine(docker)) if docker and engine.name != DOCKER else ""
    if not docker or not name:
        pytest.skip(f"{engine.name} has no image {REPOSITORY}")
    archive = tmp_path_factory.mktemp("image") / "driver.tar"
    Engine(docker).save(name, archive)
    with archive.open("rb") as file:
        engine.load(file)
    try:
        must_run(engine, name)
        yield name
    finally:
        engine.call(["rmi", "--force", name])


def named(engine: Engine) -> str:
    """The driver's image in an engine; "" if it has none."""
    try:
        listed = engine.call(["images", "--format", "{{.Repository}}:{{.Tag}}"]).split()
    except ToolError:
        return ""
    known = (each for each in listed if each.partition(":")[0].rpartition("/")[2] == REPOSITORY)
    return next(known, "")


def must_run(engine: Engine, image: str) -> None:
    """Some machines let no engine run anything."""
    try:
        engine.call(["run", "--rm", "--network=none", image, "--help"])
    except ToolError as error:
        pytest.skip(f"{engine.name} runs no container here: {error}")


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for each in made:
        each.kill()
        each.wait(20.0)


def command(engine: Engine, driver: str, *more: str) -> list[str]:
    given = [
        *(f"--dra-driver={driver}", f"--dra-driver-name={NAME}"),
        *(f"--dra-engine={engine.program}", "--dra-require=partial"),
    ]
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *given, *more]


def judged(engine: Engine, folder: Path, driver: str, *more: str) -> str:
    done = subprocess.run(
        command(engine, driver, *more),
        cwd=folder,
        capture_output=True,
        timeout=RUN_S,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def ours(engine: Engine, pid: int) -> list[str]:
    """Containers that a process has made."""
    owners = {name: Owner.from_label(label) for name, label in engine.containers(OWNED).items()}
    return [name for name, owner in owners.items() if owner is not None and owner.pid == pid]


def test_an_image_registers_publishes_prepares_and_restarts(
    engine: Engine, image: str, tmp_path: Path
) -> None:
    cases = "--dra-case=REG-001,SLICE-001,PREP-001,RST-001"
    assert "4 passed" in judged(engine, tmp_path, f"{image} {ALONE}", cases)


RIGHT = "--dra-case=REG-001,PREP-001,CDI-001,SEC-002"
"""With the arguments and mounts of the manifests, and with no more rights than theirs."""


def test_an_image_is_run_as_the_daemon_set_of_its_site_says(
    engine: Engine, image: str, tmp_path: Path
) -> None:
    if find("kustomize") is None and find("kubectl") is None:
        pytest.skip("there is neither kustomize nor kubectl on PATH")
    assert "4 passed" in judged(engine, tmp_path, image, RIGHT, f"--dra-manifests={SITE}")
    plain = f"--dra-manifests={tmp_path / 'dra-results/manifests/upstream_site.yaml'}"
    assert "1 passed" in judged(engine, tmp_path, image, "--dra-case=REG-001", plain)


def test_an_image_is_run_as_the_daemon_set_of_its_chart_says(
    engine: Engine, image: str, tmp_path: Path
) -> None:
    if find("helm") is None:
        pytest.skip("there is no helm on PATH")
    (tmp_path / "values.yaml").write_text(f"driver: {NAME}\n")
    more = (f"--dra-manifests={CHART}", "--dra-helm-values=values.yaml")
    assert "4 passed" in judged(engine, tmp_path, image, RIGHT, *more)


def test_an_image_is_run_as_its_manifests_say_with_their_rights(
    engine: Engine, image: str, tmp_path: Path
) -> None:
    text = SITE.with_name("upstream_image").joinpath("manifests.yaml").read_text()
    (tmp_path / "m.yaml").write_text(text)
    assert "4 passed" in judged(engine, tmp_path, image, RIGHT, "--dra-manifests=m.yaml")
    (tmp_path / "m.yaml").write_text(text.replace("watch, create, update,", "watch, update,"))
    done = subprocess.run(
        command(engine, image, "--dra-manifests=m.yaml", "--dra-case=SLICE-001"),
        cwd=tmp_path, capture_output=True, timeout=RUN_S, check=False, text=True,
    )  # fmt: skip
    assert 'its roles lack {apiGroups: ["resource.k8s.io"]' in done.stdout


def test_an_image_in_a_file_is_loaded_and_run(engine: Engine, image: str, tmp_path: Path) -> None:
    engine.save(image, tmp_path / "driver.tar")
    said = judged(engine, tmp_path, f"./driver.tar {ALONE}", "--dra-case=REG-001")
    assert "1 passed" in said


def test_the_previous_release_hands_its_claims_over(
    engine: Engine, image: str, tmp_path: Path
) -> None:
    subprocess.run(
        command(engine, f"{image} {ALONE}", f"--dra-driver-previous={image}", "--dra-case=RST-011"),
        cwd=tmp_path, capture_output=True, timeout=RUN_S, check=False,
    )  # fmt: skip
    report = (tmp_path / "dra-results/report.yaml").read_text()
    assert "launch.previous is an image" not in report
    assert "input missing: launch.previous" not in report


def test_nothing_is_left_after_sigkill(
    engine: Engine, image: str, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    process = subprocess.Popen(
        command(engine, f"{image} {ALONE}"),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started.append(process)
    soon(lambda: ours(engine, process.pid), RUN_S)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(20.0)
    soon(lambda: not ours(engine, process.pid), RUN_S)


def test_what_the_keeper_has_left_goes_by_the_cleanup(
    engine: Engine, image: str, tmp_path: Path
) -> None:
    script = (
        "import sys\n"
        "from pytest_dra.clusters.engine import Engine\n"
        "from pytest_dra.containers.fleet import Fleet\n"
        "fleet = Fleet(Engine(sys.argv[1]))\n"
        "fleet.engine.call(['create', '--name', fleet.name('left'), '--label', fleet.mark, "
        "sys.argv[2]])\n"
        "print(__import__('os').getpid())\n"
    )
    argv = [sys.executable, "-c", script, engine.program, image]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=RUN_S, check=True, text=True)
    except (subprocess.SubprocessError, ToolError) as error:
        pytest.fail(str(error))
    pid = int(done.stdout)
    assert ours(engine, pid)
    argv = [sys.executable, "-m", "pytest", "--dra-cleanup", f"--dra-engine={engine.program}"]
    subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=RUN_S, check=False)
    assert not ours(engine, pid)

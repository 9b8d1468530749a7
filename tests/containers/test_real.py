"""A real engine with Kubernetes' own test driver as an image; skipped where one of them is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.engine import find_engine
from pytest_dra.clusters.owner import OWNED
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch.tool import ToolError
from pytest_dra.launch.tool import find
from tests.launch.conftest import soon

REPOSITORY = "dra-test-driver"
NAME = "test-driver.cdi.k8s.io"

RUN_S = 600.0
"""Longest run of some cases on a loaded machine."""

MANIFESTS = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: drivers}
spec:
  template:
    spec:
      containers:
        - name: plugin
          image: elsewhere.example/dra-test-driver:1
          args: [kubelet-plugin, --node-name=$(NODE), --cdi-dir=/cdi]
          env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
          securityContext: {privileged: true}
          volumeMounts:
            - {name: plugins, mountPath: /var/lib/kubelet/plugins}
            - {name: registry, mountPath: /var/lib/kubelet/plugins_registry}
            - {name: cdi, mountPath: /cdi}
      volumes:
        - {name: plugins, hostPath: {path: /var/lib/kubelet/plugins}}
        - {name: registry, hostPath: {path: /var/lib/kubelet/plugins_registry}}
        - {name: cdi, hostPath: {path: /var/run/cdi}}
"""


@pytest.fixture(scope="module")
def engine() -> Engine:
    try:
        found = find_engine()
        found.must_answer()
    except ClusterError as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="module")
def image(engine: Engine) -> str:
    listed = engine.call(["images", "--format", "{{.Repository}}:{{.Tag}}"]).split()
    known = [each for each in listed if each.partition(":")[0].rpartition("/")[2] == REPOSITORY]
    if not known:
        pytest.skip(f"{engine.name} has no image {REPOSITORY}")
    return known[0]


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for each in made:
        each.kill()
        each.wait(20.0)


def command(driver: str, *more: str) -> list[str]:
    given = [f"--dra-driver={driver}", f"--dra-driver-name={NAME}", "--dra-require=partial"]
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *given, *more]


def judged(folder: Path, driver: str, *more: str) -> str:
    done = subprocess.run(
        command(driver, *more),
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


def test_an_image_registers_publishes_prepares_and_restarts(image: str, tmp_path: Path) -> None:
    cases = "--dra-case=REG-001,SLICE-001,PREP-001,RST-001"
    said = judged(tmp_path, f"{image} kubelet-plugin --node-name={{node}}", cases)
    assert "4 passed" in said


def test_an_image_is_run_as_its_daemon_set_says(image: str, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MANIFESTS)
    cases = "--dra-case=REG-001,PREP-001,CDI-001"
    assert "3 passed" in judged(tmp_path, image, cases, "--dra-manifests=m.yaml")


def test_an_image_is_run_as_the_daemon_set_of_its_chart_says(image: str, tmp_path: Path) -> None:
    if find("helm") is None:
        pytest.skip("there is no helm on PATH")
    templates = tmp_path / "chart/templates"
    templates.mkdir(parents=True)
    (tmp_path / "chart/Chart.yaml").write_text("apiVersion: v2\nname: gpu\nversion: 0.1.0\n")
    (tmp_path / "values.yaml").write_text("cdi: /cdi\n")
    (templates / "plugin.yaml").write_text(
        MANIFESTS.replace("drivers", "{{ .Release.Namespace }}").replace(
            "mountPath: /cdi", "mountPath: {{ .Values.cdi }}"
        )
    )
    more = ("--dra-manifests=chart", "--dra-helm-values=values.yaml")
    assert "2 passed" in judged(tmp_path, image, "--dra-case=REG-001,PREP-001", *more)
    assert "pytest-dra-driver" in (tmp_path / "dra-results/manifests/chart.yaml").read_text()


def test_an_image_in_a_file_is_loaded_and_run(engine: Engine, image: str, tmp_path: Path) -> None:
    engine.save(image, tmp_path / "driver.tar")
    words = "./driver.tar kubelet-plugin --node-name={node}"
    said = judged(tmp_path, words, "--dra-case=REG-001")
    assert "1 passed" in said


def test_the_previous_release_hands_its_claims_over(image: str, tmp_path: Path) -> None:
    words = f"{image} kubelet-plugin --node-name={{node}}"
    subprocess.run(
        command(words, f"--dra-driver-previous={image}", "--dra-case=RST-011"),
        cwd=tmp_path, capture_output=True, timeout=RUN_S, check=False,
    )  # fmt: skip
    report = (tmp_path / "dra-results/report.yaml").read_text()
    assert "launch.previous is an image" not in report
    assert "input missing: launch.previous" not in report


def test_nothing_is_left_after_sigkill(
    engine: Engine, image: str, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    words = f"{image} kubelet-plugin --node-name={{node}}"
    process = subprocess.Popen(
        command(words), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
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

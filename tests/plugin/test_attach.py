"""``--dra-driver=attach``: the driver is started by the test, with the environment of the file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.bench.patience import OF_TIME
from tests.plugin.conftest import Runs

START_LIMIT_S = 60.0
RUN_LIMIT_S = 240.0
POLL_S = 0.05
PROFILE = Path(__file__).parents[2] / "fake_driver" / "dra-profile.yaml"
NAME = "fake.dra.example"
SHORT = ("--dra-case=REG-001,PREP-001,PREP-006,RST-001,SLICE-003,IDEM-009,REG-014",)


def parsed(file: Path) -> dict[str, str]:
    """An env file as docker and IDEs read it."""
    lines = [line for line in file.read_text("utf-8").splitlines() if line[:1] != "#"]
    return dict(line.split("=", 1) for line in lines)


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while not file.exists() and time.monotonic() < deadline:
        threading.Event().wait(POLL_S)


class Attached:
    """pytest that waits for a driver, and the driver, both started here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "dra-results" / "attach.env"
        self.pytest: subprocess.Popen[str] | None = None
        self.driver: subprocess.Popen[bytes] | None = None

    def judge(self, *arguments: str) -> None:
        self.pytest = subprocess.Popen(
            [sys.executable, "-m", "pytest", "--dra-driver=attach", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        wait_for(self.file)

    def attach(self, *arguments: str) -> None:
        variables = parsed(self.file)
        self.driver = subprocess.Popen(
            [sys.executable, "-m", "pytest_dra.fake_driver", *arguments],
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def output(self) -> str:
        assert self.pytest is not None
        return self.pytest.communicate(timeout=RUN_LIMIT_S)[0]

    def end(self) -> None:
        for process in (self.pytest, self.driver):
            if process is not None:
                process.kill()
                process.communicate()
        # A driver that lives on makes its sockets again where the directories have gone.
        if self.file.exists():
            shutil.rmtree(Path(parsed(self.file)["KUBECONFIG"]).parent, ignore_errors=True)


@pytest.fixture
def attached(runs: Runs) -> Iterator[Attached]:
    made = Attached(runs.folder)
    yield made
    made.end()


def test_the_driver_is_judged_and_left_alone(attached: Attached, runs: Runs) -> None:
    attached.judge(f"--dra-profile={PROFILE}", *SHORT)
    attached.attach()
    text = attached.output()
    assert "export KUBECONFIG=" in text
    assert f"for an IDE: {attached.file}" in text
    assert "dra: judging attach (command line)" in text
    assert f"registered as {NAME}" in text
    cases = runs.cases()
    states = {id: each["state"] for id, each in cases.items() if each["state"] != "not-run"}
    assert states == {
        "REG-001": "passed",
        "PREP-001": "passed",
        "PREP-006": "passed",
        "REG-014": "passed",
        "RST-001": "unsupported-environment",
        "SLICE-003": "unsupported-environment",
        "IDEM-009": "unsupported-environment",
    }, text
    reason = "the suite does not own the process of an attached driver, so it cannot "
    assert cases["RST-001"]["reason"] == f"{reason}restart it"
    assert cases["SLICE-003"]["reason"] == f"{reason}start another one beside it"
    report = runs.report()
    assert report["driver"] == {"name": NAME, "launched": "attach"}
    assert "--dra-driver=attach" in report["reproduce"]["all"]
    assert report["verdict"] == "partial"
    assert attached.driver is not None
    assert attached.driver.poll() is None
    assert not Path(parsed(attached.file)["KUBECONFIG"]).exists()


def test_a_driver_that_is_attached_fails_like_any_other(attached: Attached, runs: Runs) -> None:
    attached.judge(f"--dra-profile={PROFILE}", "--dra-case=PREP-006,PREP-007,PREP-001")
    attached.attach("--fault=PREP-006")
    text = attached.output()
    assert {id for id, state in runs.states().items() if state == "failed"} == {"PREP-006"}, text
    assert {id for id, state in runs.states().items() if state == "passed"} == {
        "PREP-001",
        "PREP-007",
    }


def test_deadlines_are_lifted(attached: Attached, runs: Runs) -> None:
    late = sorted(OF_TIME)
    chosen = ",".join(["REG-002", "PREP-001", *late])
    attached.judge(f"--dra-profile={PROFILE}", "--dra-deadlines=lifted", f"--dra-case={chosen}")
    attached.attach("--fault=REG-014")
    text = attached.output()
    assert attached.pytest is not None
    states = {id: state for id, state in runs.states().items() if state != "not-run"}
    assert states == {
        "REG-002": "passed",
        "PREP-001": "passed",
        **dict.fromkeys(late, "unsupported-environment"),
        "PREP-022": "not-applicable",
    }, text
    assert "deadlines are lifted, so lateness is not judged" in text
    assert "--dra-deadlines=lifted" in runs.report()["reproduce"]["all"]


def test_a_driver_that_never_comes(runs: Runs) -> None:
    done = runs.really("--dra-driver=attach", "--dra-attach-wait=0.5", "--dra-case=REG-001,PREP")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        [
            "*--dra-driver=attach: no driver has attached within 0.5 s: no socket in */reg accepts "
            "connections. Start it with the environment that was shown, or wait longer: "
            "--dra-attach-wait=SECONDS*"
        ]
    )
    assert set(runs.states().values()) == {"not-run"}
    assert runs.report()["verdict"] == "inconclusive"


def test_another_driver_comes(attached: Attached, runs: Runs) -> None:
    attached.judge("--dra-driver-name=gpu.example.com", "--dra-case=REG-001")
    attached.attach("--driver-name=other.example.com")
    text = attached.output()
    assert (
        "the driver that has attached registers as 'other.example.com', want 'gpu.example.com': "
        "start that one, or give the right name with --dra-driver-name"
    ) in text
    assert attached.pytest is not None
    assert attached.pytest.returncode == pytest.ExitCode.TESTS_FAILED


MIDWAY = """
import os, pathlib, signal, time
import pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid):
    if "prep_001" in nodeid:
        os.kill(int(pathlib.Path("pid").read_text()), signal.SIGKILL)
        time.sleep(0.5)
        {after}
"""


@pytest.mark.parametrize("again", [False, True], ids=["gone", "started-again"])
def test_the_driver_goes_away_midway(attached: Attached, runs: Runs, *, again: bool) -> None:
    after = "open('gone', 'w').close()\n"
    if again:
        after += "        while not os.path.exists('back'): time.sleep(0.05)"
    (runs.folder / "midway.py").write_text(MIDWAY.format(after=after))
    chosen = "--dra-case=PREP-001,PREP-006,REG-001,CDI-001"
    attached.judge("-p", "midway", f"--dra-profile={PROFILE}", chosen)
    attached.attach()
    assert attached.driver is not None
    (runs.folder / "pid").write_text(str(attached.driver.pid))
    if again:
        wait_for(runs.folder / "gone")
        attached.driver.wait()
        attached.attach()
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline and not _listens(attached.file):
            threading.Event().wait(POLL_S)
        (runs.folder / "back").write_text("")
    text = attached.output()
    states = {id: state for id, state in runs.states().items() if state != "not-run"}
    assert states.pop("PREP-001") == "passed"
    wanted = "passed" if again else "unsupported-environment"
    assert {states[id] for id in ("PREP-006", "CDI-001")} == {wanted}, text
    if not again:
        assert "the attached driver has ended, and the suite cannot start it again" in text


def _listens(file: Path) -> bool:
    import socket

    registry = Path(parsed(file)["KUBELET_REGISTRAR_DIRECTORY_PATH"])
    for path in registry.glob("*.sock"):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
                return True
            except OSError:
                continue
    return False


def test_control_c_ends_the_wait(attached: Attached, runs: Runs) -> None:
    attached.judge("--dra-case=REG-001")
    assert attached.pytest is not None
    attached.pytest.send_signal(signal.SIGINT)
    text = attached.output()
    assert attached.pytest.returncode == pytest.ExitCode.INTERRUPTED, text
    assert not Path(parsed(attached.file)["KUBECONFIG"]).exists()


def test_the_profile_shows_how_it_starts_the_driver(attached: Attached, runs: Runs) -> None:
    (runs.folder / "p.yaml").write_text(
        "apiVersion: pytest-dra.dev/v1alpha1\n"
        "kind: DriverProfile\n"
        "launch: {components: [{name: a, command: [./gpu, '--cdi={cdi_dir}'],\n"
        "  env: {WORDS: 'two words', AT: '{driver_dir}'}, registers: true}]}\n"
        "driver: {name: gpu.example.com}\n"
    )
    attached.judge("--dra-profile=p.yaml", "--dra-attach-wait=1", "--dra-case=REG-001")
    text = attached.output()
    variables = parsed(attached.file)
    assert f"./gpu --cdi={variables['CDI_ROOT']}" in text
    assert "export WORDS='two words'" in text
    assert variables["WORDS"] == '"two words"'
    assert variables["AT"].endswith("/plug/gpu.example.com")


def test_fixtures_wait_as_well_whatever_is_captured(attached: Attached, runs: Runs) -> None:
    runs.pytester.makepyfile("""
        def test_own(dra_driver):
            assert dra_driver.devices()
    """)
    attached.judge("test_fixtures_wait_as_well_whatever_is_captured.py")
    attached.attach()
    text = attached.output()
    assert attached.pytest is not None
    assert attached.pytest.returncode == pytest.ExitCode.OK, text
    assert "export KUBECONFIG=" in text

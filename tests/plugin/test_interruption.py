"""A run that is ended in its middle: the report is written where it can be, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugin.conftest import Runs

MARK = "DRA_TEST_MARK"
START_LIMIT_S = 60.0
END_LIMIT_S = 30.0
GONE_LIMIT_S = 15.0
POLL_S = 0.05

WRAPPER = f"""\
#!/bin/sh
echo "$KUBECONFIG $KUBELET_PLUGINS_DIRECTORY_PATH" >> {{log}}
exec {sys.executable} -m pytest_dra.fake_driver
"""
"""Notes where it was started before it becomes the fake driver."""


def happens(condition: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(POLL_S)
    return True


class Interrupted:
    """pytest on a real driver, for signals; ``mark`` is in the environment of all it starts."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.mark = uuid.uuid4().hex
        self.log = folder / "started"
        script = folder / "driver.sh"
        script.write_text(WRAPPER.format(log=self.log))
        script.chmod(0o755)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pytest", f"--dra-driver=exec:{script}", *arguments],
            cwd=folder,
            env={**os.environ, MARK: self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def wait_until_judging(self) -> None:
        assert happens(self.log.exists, START_LIMIT_S), "the driver was not started"
        threading.Event().wait(0.5)
        assert self.process.poll() is None

    def end(self) -> str:
        """Wait for pytest; returns what it has written."""
        return self.process.communicate(timeout=END_LIMIT_S)[0]

    def left(self) -> list[str]:
        """Processes and directories of the run that are still there."""
        needle = f"{MARK}={self.mark}".encode()
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            try:
                if needle in (each / "environ").read_bytes():
                    found.append((each / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        paths = [Path(word) for word in self.log.read_text().split()]
        return found + [str(path.parent) for path in paths if path.parent.exists()]

    def nothing_is_left(self) -> None:
        assert happens(lambda: not self.left(), GONE_LIMIT_S), self.left()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_control_c_ends_the_run_with_its_report(runs: Runs, workers: tuple[str, ...]) -> None:
    run = Interrupted(runs.folder, *workers)
    run.wait_until_judging()
    os.killpg(run.process.pid, signal.SIGINT)
    text = run.end()
    assert run.process.returncode == pytest.ExitCode.INTERRUPTED, text
    run.nothing_is_left()
    report = runs.report()
    assert report["verdict"] in ("partial", "inconclusive"), text
    reasons = {each.get("reason") for each in report["cases"] if each["state"] == "not-run"}
    assert reasons == {"deselected: the run ended before it"}
    assert "the run ended early: " in text
    assert "errored" not in runs.states().values()


COLLECTING = """
import os, signal, pytest

@pytest.hookimpl({order}=True)
def {hook}():
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize(
    ("hook", "order"),
    [
        ("pytest_collection", "tryfirst"),
        ("pytest_collection_modifyitems", "tryfirst"),
        ("pytest_collection_finish", "trylast"),
    ],
)
def test_control_c_while_cases_are_collected_leaves_a_report_of_nothing(
    runs: Runs, hook: str, order: str
) -> None:
    runs.pytester.makeconftest(COLLECTING.format(hook=hook, order=order))
    ended = runs.apart("--dra-driver=fake", "--dra-case=REG-001,CDI-001")
    assert ended.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in ended.stdout.str() + ended.stderr.str()
    assert "the run ended early: " in ended.stdout.str()
    report = runs.report()
    assert report["verdict"] == "inconclusive"
    assert set(runs.states().values()) == {"not-run"}
    ended_before = "deselected: the run ended before it"
    assert {id for id, case in runs.cases().items() if case["reason"] == ended_before} == {
        "REG-001",
        "CDI-001",
    }


AT_THE_END = """
import os, signal
import {module} as module

whole = module.{name}

def interrupted(*given, **named):
    module.{name} = whole
    os.kill(os.getpid(), signal.SIGINT)
    return whole(*given, **named)

module.{name} = interrupted
"""


@pytest.mark.parametrize(
    ("module", "name", "told"),
    [
        ("pytest_dra.running", "figures_of", "interrupted while driver and cluster were being end"),
        ("pytest_dra.report.html", "render", "interrupted while the report was being written: it"),
        ("pytest_dra.report.writing", "write_whole", "interrupted while the report was being wri"),
    ],
)
def test_control_c_at_the_end_of_a_run_leaves_its_report(
    runs: Runs, module: str, name: str, told: str
) -> None:
    runs.pytester.makeconftest(AT_THE_END.format(module=module, name=name))
    ended = runs.apart("--dra-driver=fake", "--dra-case=REG-001")
    assert ended.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in ended.stdout.str() + ended.stderr.str()
    assert told in ended.stdout.str()
    assert runs.states()["REG-001"] == "passed"
    assert (runs.folder / "dra-results" / "report.html").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["term", "kill"])
def test_nothing_outlives_a_pytest_that_is_ended(runs: Runs, number: signal.Signals) -> None:
    run = Interrupted(runs.folder)
    run.wait_until_judging()
    run.process.send_signal(number)
    run.end()
    assert run.process.returncode == -number
    run.nothing_is_left()


def test_nothing_outlives_a_failing_fixture_of_the_user(runs: Runs) -> None:
    runs.pytester.makepyfile("""
        import pytest

        @pytest.fixture(scope="session")
        def licence(dra_session):
            dra_session.bench.instance.plugin()
            raise RuntimeError("no licence")

        def test_own(licence): pass

        def test_other(dra_driver): raise SystemExit(3)
    """)
    run = Interrupted(runs.folder, "--dra-suite=with", "--dra-case=REG-001")
    text = run.end()
    assert run.log.exists(), text
    assert "no licence" in text
    assert run.process.returncode != 0
    run.nothing_is_left()

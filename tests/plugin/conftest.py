"""Runs of pytest with the plugin, in a folder of their own."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

import pytest_dra.runner
import pytest_dra.session  # noqa: F401
from pytest_dra.cases import implemented
from pytest_dra.options import OPTIONS
from pytest_dra.options import STEP_SUMMARY
from tests.plugin.scripted import VARIABLE
from tests.sweep.forkserver import forkserver

EVERY = len(implemented())
"""Cases of the suite."""

ROOT = Path(__file__).parents[2]

RUN_LIMIT_S = 120.0
"""Longest run of pytest in a process of its own."""

QUICK = ("-p", "no:unraisableexception", "-p", "no:hypothesispytest")
"""These plugins cost a second at the end: garbage collected five times, hypothesis imported."""


class Runs:
    """Starts pytest in ``folder`` and reads what it leaves there."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self.folder = pytester.path
        self._monkeypatch = monkeypatch

    def script(self, **states: str) -> None:
        """States of the cases by id, ``_`` for ``-``; ``rest`` for all others."""
        named = {key.replace("_", "-"): state for key, state in states.items() if key != "rest"}
        self._monkeypatch.setenv(VARIABLE, json.dumps({**named, "*": states.get("rest", "passed")}))

    def environment(self, **values: str) -> None:
        """Set variables of the environment."""
        for name, value in values.items():
            self._monkeypatch.setenv(name, value)

    def inside(self, *arguments: str) -> pytest.RunResult:
        """In this process, with scripted cases."""
        return self.pytester.runpytest_inprocess(*QUICK, "-p", "tests.plugin.scripted", *arguments)

    def judge(self, *arguments: str) -> pytest.RunResult:
        """The fake driver with scripted cases, in this process."""
        return self.inside("--dra-driver=fake", *arguments)

    def apart(self, *arguments: str) -> pytest.RunResult:
        """In a process of its own, with scripted cases."""
        return self.really("-p", "tests.plugin.scripted", *arguments)

    def really(self, *arguments: str) -> pytest.RunResult:
        """In a process of its own, which is forked, with a real driver."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as outside:
            done = forkserver().run(
                [f"--basetemp={outside}/basetemp", *arguments],
                directory=self.folder,
                env=os.environ,
                limit_s=RUN_LIMIT_S,
            )
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        out, err = done.stdout.splitlines(), done.stderr.splitlines()
        return pytest.RunResult(done.returncode, out, err, time.monotonic() - began)

    def executed(self, *arguments: str) -> pytest.RunResult:
        """In a process that is started as a user starts it."""
        return self.pytester.runpytest_subprocess(*arguments, timeout=RUN_LIMIT_S)

    def report(self, directory: str = "dra-results") -> dict[str, Any]:
        """The written ``report.yaml``."""
        text = (self.folder / directory / "report.yaml").read_text("utf-8")
        found: dict[str, Any] = yaml.safe_load(text)
        return found

    def cases(self, directory: str = "dra-results") -> dict[str, dict[str, Any]]:
        """The report's cases by id."""
        return {each["id"]: each for each in self.report(directory)["cases"]}

    def states(self, directory: str = "dra-results") -> dict[str, str]:
        """State of each case by id."""
        return {id: each["state"] for id, each in self.cases(directory).items()}


@pytest.fixture(scope="session")
def byte_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the processes of all tests share their byte code: compiling is most of their start."""
    return tmp_path_factory.mktemp("byte-code")


@pytest.fixture
def runs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, byte_code: Path) -> Runs:
    """An empty folder, and pytest to run in it; no option is set from outside."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(byte_code))
    for option in OPTIONS:
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.delenv(STEP_SUMMARY, raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.syspath_prepend(str(ROOT))
    return Runs(pytester, monkeypatch)


def text_of(result: pytest.RunResult) -> str:
    """Everything that a run has written."""
    return f"{result.stdout.str()}\n{result.stderr.str()}"

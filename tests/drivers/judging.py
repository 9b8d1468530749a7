"""One run of the suite on a driver, in a process of its own, and what it left behind."""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

PROJECT = Path(__file__).parents[2]

RUN_LIMIT_S = 170.0
"""Longest run: a driver is judged in less than three minutes, whatever it does."""

GONE_S = 5.0
"""Wait for killed processes to leave the process table."""

TOKEN = "DRA_DRIVERS_TEST"
GOOD = "tests.drivers.good"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a run said, how it ended, and what was left.

    ``cases`` are the entries of the report by id; ``left`` are paths below the temporary directory
    of the run and command lines of processes that outlived it.
    """

    code: int
    output: str
    seconds: float
    report: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, Any]]
    left: tuple[str, ...]

    def ids(self, *states: str) -> set[str]:
        """Ids in one of these states."""
        return {id for id, entry in self.cases.items() if entry["state"] in states}

    def state(self, id: str) -> str:
        """The state of one case."""
        found: str = self.cases[id]["state"]
        return found

    def got(self, id: str) -> str:
        """What a failed case got."""
        return str(self.cases[id]["got"])

    def reason(self, id: str) -> str:
        """Why a case was not run."""
        return str(self.cases[id].get("reason", ""))


def module(name: str, *arguments: str) -> str:
    """The value of ``--dra-driver`` for a driver of this folder."""
    return "exec:" + shlex.join([sys.executable, "-m", name, *arguments])


def good(*arguments: str) -> str:
    """The value of ``--dra-driver`` for the good driver with switches."""
    return module(GOOD, *arguments)


def judge(
    driver: str = "",
    *,
    cases: str = "",
    profile: Mapping[str, Any] | None = None,
    options: tuple[str, ...] = (),
    limit_s: float = RUN_LIMIT_S,
) -> Judged:
    """Run the suite.

    Args:
        driver: for ``--dra-driver``; empty if the profile launches it.
        cases: for ``--dra-case``; empty for all.
        profile: the profile's blocks, without apiVersion and kind.
        options: further options of pytest.
        limit_s: longest run.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    token = uuid.uuid4().hex
    # Short, because of the sockets below it.
    with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as scratch:
        work, results = Path(scratch) / "w", Path(scratch) / "r"
        work.mkdir()
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        command += [f"--dra-output={results}", *options]
        if driver:
            command.append(f"--dra-driver={driver}")
        if cases:
            command.append(f"--dra-case={cases}")
        if profile is not None:
            command.append(f"--dra-profile={_write_profile(work, profile)}")
        began = time.monotonic()
        done = subprocess.run(
            command,
            cwd=work,
            env=_environment(scratch, token),
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        seconds = time.monotonic() - began
        file = results / "report.yaml"
        report = yaml.safe_load(file.read_text("utf-8")) if file.exists() else {}
        directories = [path.name for path in Path(scratch).iterdir() if path not in (work, results)]
    return Judged(
        code=done.returncode,
        output=done.stdout + done.stderr,
        seconds=seconds,
        report=report,
        cases={entry["id"]: entry for entry in report.get("cases", ())},
        left=(*directories, *_processes(token)),
    )


def _write_profile(work: Path, profile: Mapping[str, Any]) -> Path:
    path = work / "dra-profile.yaml"
    head = {"apiVersion": "pytest-dra.dev/v1alpha1", "kind": "DriverProfile"}
    path.write_text(yaml.safe_dump({**head, **profile}), "utf-8")
    return path


def _environment(scratch: str, token: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, "TMPDIR": scratch, "PYTHONPATH": str(PROJECT), TOKEN: token}


def _processes(token: str) -> list[str]:
    """Command lines of the processes that came of a run and do not end."""
    poll(lambda: not _marked(token), Deadline.after(GONE_S))
    return _marked(token)


def _marked(token: str) -> list[str]:
    mark = f"{TOKEN}={token}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found

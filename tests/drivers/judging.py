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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause
from pytest_dra.waiting import poll
from tests.drivers import peak
from tests.sweep.forkserver import forkserver

PROJECT = Path(__file__).parents[2]

RUN_LIMIT_S = 170.0
"""Longest run: a driver is judged in less than three minutes, whatever it does."""

GONE_S = 20.0
"""Wait for killed processes to leave the process table, and for the keeper of a killed pytest."""

TOKEN = "DRA_DRIVERS_TEST"
PEAK_FILE = "peak"
KIB_PER_MIB = 1024

PREPARED = "*/claims.json"
"""What the good driver writes once it has prepared a claim."""

PYTESTS = "pytest-of-"
"""Begins the folder of pytest's own temporary files, of which it keeps some on purpose."""

BETWEEN_S = 0.3
"""Pause between two signals: somebody who is impatient."""
GOOD = "tests.drivers.good"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a run said, how it ended, and what was left.

    ``cases`` are the entries of the report by id; ``left`` are paths below the temporary directory
    of the run, mounts in it, and command lines of processes that outlived it. ``peak_mib`` is the
    most memory that the process of pytest has used, None if it did not come to its end.
    """

    code: int
    output: str
    seconds: float
    report: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, Any]]
    left: tuple[str, ...]
    peak_mib: float | None = None

    def ids(self, *states: str) -> set[str]:
        """Ids in one of these states, without those that do not count."""
        return {
            id
            for id, entry in self.cases.items()
            if entry["state"] in states and not entry["provisional"]
        }

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
    within: Sequence[str] = (),
    limit_s: float = RUN_LIMIT_S,
) -> Judged:
    """Run the suite.

    Args:
        driver: for ``--dra-driver``; empty if the profile launches it.
        cases: for ``--dra-case``; empty for all.
        profile: the profile's blocks, without apiVersion and kind.
        options: further options of pytest.
        within: a command that runs the one behind it, such as unshare.
        limit_s: longest run.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    token = uuid.uuid4().hex
    # Short, because of the sockets below it.
    with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as scratch:
        work, results = Path(scratch) / "w", Path(scratch) / "r"
        work.mkdir()
        arguments = ["-p", "no:cacheprovider", "-p", peak.__name__]
        arguments += [f"--dra-output={results}", *options]
        if driver:
            arguments.append(f"--dra-driver={driver}")
        if cases:
            arguments.append(f"--dra-case={cases}")
        if profile is not None:
            arguments.append(f"--dra-profile={_write_profile(work, profile)}")
        began = time.monotonic()
        done = _ended(arguments, within, work, _environment(scratch, token), limit_s)
        seconds = time.monotonic() - began
        file = results / "report.yaml"
        report = yaml.safe_load(file.read_text("utf-8")) if file.exists() else {}
        noted = work / PEAK_FILE
        peak_mib = int(noted.read_text("utf-8")) / KIB_PER_MIB if noted.exists() else None
        left = _left(scratch, token, but={work, results})
    return Judged(
        code=done.returncode,
        output=done.stdout + done.stderr,
        seconds=seconds,
        report=report,
        cases={entry["id"]: entry for entry in report.get("cases", ())},
        left=left,
        peak_mib=peak_mib,
    )


def _ended(
    arguments: Sequence[str],
    within: Sequence[str],
    work: Path,
    env: Mapping[str, str],
    limit_s: float,
) -> subprocess.CompletedProcess[str]:
    """Run pytest to its end."""
    if within:
        command = [*within, sys.executable, "-m", "pytest", *arguments]
        return subprocess.run(
            command, cwd=work, env=env, capture_output=True, text=True, timeout=limit_s, check=False
        )
    return forkserver().run(arguments, directory=work, env=env, limit_s=limit_s)


def interrupt(
    driver: str, cases: str, numbers: Sequence[int], *, options: Sequence[str] = ()
) -> tuple[int, tuple[str, ...]]:
    """Begin a run, and send pytest these signals once the driver has prepared a claim.

    ``options``: further ones of pytest.

    Returns:
        The exit code, and what was left as in :class:`Judged`.
    """
    token = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as scratch:
        work, results = Path(scratch) / "w", Path(scratch) / "r"
        work.mkdir()
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        command += [f"--dra-output={results}", f"--dra-driver={driver}", f"--dra-case={cases}"]
        command += options
        with subprocess.Popen(
            command,
            cwd=work,
            env=_environment(scratch, token),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as run:
            begun = poll(
                lambda: _has_prepared(scratch) or run.poll() is not None,
                Deadline.after(RUN_LIMIT_S),
            )
            for number in numbers if begun else ():
                run.send_signal(number)
                pause(BETWEEN_S)
            code = run.wait(RUN_LIMIT_S)
        return code, _left(scratch, token, but={work, results})


def _has_prepared(scratch: str) -> bool:
    """True once a driver has prepared a claim, or spoiled its directories with that."""
    plugins = [logs.with_name("plug") for logs in Path(scratch).glob("dra-*/logs")]
    return any(
        place.is_symlink() or not place.is_dir() or list(place.glob(PREPARED)) for place in plugins
    )


def _write_profile(work: Path, profile: Mapping[str, Any]) -> Path:
    path = work / "dra-profile.yaml"
    head = {"apiVersion": "pytest-dra.dev/v1alpha1", "kind": "DriverProfile"}
    path.write_text(yaml.safe_dump({**head, **profile}), "utf-8")
    return path


BENCHES = "4"
"""The drivers here have no hardware that several of them would share."""


def _environment(scratch: str, token: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    return {
        **kept,
        "TMPDIR": scratch,
        "PYTEST_DRA_BENCHES": BENCHES,
        "PYTHONPATH": str(PROJECT),
        TOKEN: token,
        peak.FILE: f"{scratch}/w/{PEAK_FILE}",
    }


def _left(scratch: str, token: str, *, but: set[Path]) -> tuple[str, ...]:
    """What a run has left that does not go away by itself in a moment."""

    def there() -> list[str]:
        every = [path for path in Path(scratch).iterdir() if path not in but]
        return [path.name for path in every if not path.name.startswith(PYTESTS)]

    poll(lambda: not _marked(scratch, token) and not there(), Deadline.after(GONE_S))
    directories = there()
    mounts = Path("/proc/self/mounts").read_text("utf-8").splitlines()
    mounted = [line for line in mounts if f"{scratch}/" in line]
    return (*directories, *mounted, *_marked(scratch, token))


def _marked(scratch: str, token: str) -> list[str]:
    """Command lines of the processes with the token in their environment, or a path of the run.

    A driver can take its environment away from a child; such a child of ours names a path.
    """
    mark, place = f"{TOKEN}={token}".encode(), f"{scratch}/".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
            if entry.name.isdigit() and (
                place in command or mark in (entry / "environ").read_bytes().split(b"\0")
            ):
                found.append(command.replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found

"""The driver in JavaScript of ``tests/drivers/js``, which shares nothing with the suite.

``python -m tests.drivers.js_driver [--output DIR] [--row NAME]...``. It stands on ``@grpc/grpc-js``
and ``node:https``, so that neither gRPC of Python nor Kubernetes' helper in Go is what a case takes
for granted. Each row is judged with the driver's own profile and manifests, in the jail where there
can be one; what it is expected to say stands in ``js_driver.json``. Exits 1 if a row differs, 2
without ``node`` and ``npm``.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pytest_dra.launch import Jail
from tests.drivers.expecting import Seen
from tests.drivers.expecting import compare
from tests.drivers.expecting import run
from tests.drivers.expecting import say

SOURCE = Path(__file__).with_name("js")
EXPECTED = Path(__file__).with_name("js_driver.json")
PROFILE = SOURCE / "dra-profile.yaml"
PROGRAM = "js-driver"
"""The name under which the profile starts it."""

INSTALLED = ("package.json", "package-lock.json", ".npmrc")
"""What ``npm ci`` needs; the lock file names versions and digests, and no registry."""

INSTALL_S = 300.0
"""Longest installation: 4 s with a registry nearby."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One way in which it is started: switches of the driver, options of the suite."""

    switches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


ROWS = {
    "usual": Row(),
    # What client-go allows a driver that does not say otherwise.
    "slow": Row(("--qps=5", "--burst=10")),
}


def install(npm: str, directory: Path) -> Path:
    """Copy the driver there, with the packages of its lock file; its main module.

    Raises:
        RuntimeError: npm fails; its words are in the message.
        subprocess.TimeoutExpired: it took longer than ``INSTALL_S``.
    """
    place = directory / "driver"
    place.mkdir()
    for source in (*SOURCE.glob("*.js"), *(SOURCE / name for name in INSTALLED)):
        shutil.copy(source, place)
    done = subprocess.run(
        [npm, "ci", "--omit=dev", "--no-progress"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"npm ci ended with {done.returncode}: {done.stdout}{done.stderr}")
    return place / "main.js"


def program(node: str, main_module: Path, row: Row, directory: Path) -> Path:
    """A directory with the row's program, for PATH."""
    directory.mkdir()
    command = shlex.join([node, str(main_module), *row.switches])
    script = directory / PROGRAM
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n', "utf-8")
    script.chmod(0o755)
    return directory


def judge(row: Row, programs: Path, output: Path, *, jailed: bool) -> Seen:
    """Judge one row."""
    options = [f"--dra-profile={PROFILE}", *row.options]
    if jailed:
        options.append("--dra-jail")
    return run(options, output, programs=programs)


def expectation() -> dict[str, Any]:
    """What is stored, the same for each row."""
    stored: dict[str, Any] = json.loads(EXPECTED.read_text("utf-8"))
    return stored


def main(arguments: list[str]) -> int:
    """Install, judge, compare."""
    parser = argparse.ArgumentParser(prog="tests.drivers.js_driver")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--row", action="append", choices=sorted(ROWS), default=None)
    options = parser.parse_args(arguments)
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        say("node and npm are not both on PATH: the driver in JavaScript cannot be run")
        return 2
    trouble = Jail.check()
    if trouble:
        say(f"without a jail: {trouble}")
    with tempfile.TemporaryDirectory(prefix="dra-js-") as temporary:
        place = Path(temporary)
        main_module = install(npm, place)
        output = options.output or place / "results"
        runs = {
            name: functools.partial(
                judge,
                row,
                program(node, main_module, row, place / name),
                output / name,
                jailed=not trouble,
            )
            for name, row in ROWS.items()
            if name in (options.row or ROWS)
        }
        return compare(runs, expectation())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

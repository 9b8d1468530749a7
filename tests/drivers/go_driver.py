"""The driver in Go of ``tests/drivers/go``, built on the helpers of two Kubernetes releases.

``python -m tests.drivers.go_driver [--output DIR] [--row NAME]...``. Each row is
judged with the driver's own profile in the jail; the driver of the other row is its previous
release, so that both an update and a way back over all the releases in between are seen. What each
row is expected to say stands in ``go_driver.json``. Exits 1 if a row differs, 2 without ``go``.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_dra.launch import Jail
from tests.drivers.expecting import Seen
from tests.drivers.expecting import compare
from tests.drivers.expecting import run
from tests.drivers.expecting import say

SOURCE = Path(__file__).with_name("go")
EXPECTED = Path(__file__).with_name("go_driver.json")
PROGRAM, BEFORE = "go-driver", "go-driver-before"
"""The names under which the profile starts the two."""

BUILD_S = 900.0
"""Longest build: about 2 min where nothing is cached, more beside other work."""

NEEDS_BOOT_ID = "RST-003"


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One build: the Kubernetes minor whose helper it has, and how ``go build`` is told so."""

    minor: str
    arguments: tuple[str, ...] = ()


ROWS = {
    row.minor: row
    for row in (Row("1.37"), Row("1.34", ("-modfile=helper-1.34.mod", "-tags=helper134")))
}


def build(go: str, row: Row, program: Path) -> None:
    """Build one row's driver with the compiler ``go``.

    Raises:
        RuntimeError: it cannot be built; the compiler's words are in the message.
        subprocess.TimeoutExpired: it took longer than ``BUILD_S``.
    """
    done = subprocess.run(
        [go, "build", "-buildvcs=false", *row.arguments, "-o", str(program), "."],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"go build for {row.minor} ended with {done.returncode}: {done.stderr}")


def build_all(go: str, directory: Path) -> Mapping[str, Path]:
    """Build all rows; by row the directory with its program and its previous release."""
    built = {minor: directory / f"built-{minor}" for minor in ROWS}
    for minor, row in ROWS.items():
        build(go, row, built[minor])
    made = {}
    for minor in ROWS:
        made[minor] = directory / minor
        made[minor].mkdir(exist_ok=True)
        (other,) = (built[each] for each in ROWS if each != minor)
        for name, target in ((PROGRAM, built[minor]), (BEFORE, other)):
            (made[minor] / name).unlink(missing_ok=True)
            (made[minor] / name).hardlink_to(target)
    return made


def judge(row: Row, programs: Path, output: Path, *, jailed: bool) -> Seen:
    """Judge one row."""
    options = [f"--dra-profile={SOURCE / 'dra-profile.yaml'}", f"--dra-kubernetes={row.minor}"]
    if jailed:
        options.append("--dra-jail")
    return run(options, output / row.minor, programs=programs)


def expectation(*, jailed: bool) -> dict[str, Any]:
    """What is stored, by row; without a jail no reboot can be played to a driver like this one."""
    stored: dict[str, Any] = json.loads(EXPECTED.read_text("utf-8"))["rows"]
    if not jailed:
        for row in stored.values():
            row["verdict"] = "partial"
            row["cases"][NEEDS_BOOT_ID] = {"state": "unsupported-environment"}
    return stored


def main(arguments: list[str]) -> int:
    """Build, judge, compare."""
    parser = argparse.ArgumentParser(prog="tests.drivers.go_driver")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--row", action="append", choices=sorted(ROWS), default=None)
    options = parser.parse_args(arguments)
    go = shutil.which("go")
    if go is None:
        say("go is not on PATH: the driver cannot be built")
        return 2
    trouble = Jail.check()
    if trouble:
        say(f"without a jail, {NEEDS_BOOT_ID} cannot be judged: {trouble}")
    with tempfile.TemporaryDirectory(prefix="dra-go-") as temporary:
        programs = build_all(go, Path(temporary))
        output = options.output or Path(temporary) / "results"
        runs = {
            minor: functools.partial(judge, row, programs[minor], output, jailed=not trouble)
            for minor, row in ROWS.items()
            if minor in (options.row or ROWS)
        }
        return compare(runs, expectation(jailed=not trouble))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

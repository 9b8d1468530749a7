"""Kubernetes' own DRA test driver, judged several times: the same states each time.

``python -m tests.drivers.upstream [--output DIR] [--runs N]``. The program ``dra-test-driver`` is
looked for on PATH and below ``$DRA_KIND_HOME``. What each case is expected to say stands in
``upstream.json``, with the reason from the driver's source for each one that does not pass. Exits 1
if a run differs, 2 if there is no such program.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.drivers.expecting import compare
from tests.drivers.expecting import run
from tests.drivers.expecting import say

PROGRAM = "dra-test-driver"
NAME = "test-driver.cdi.k8s.io"
COMMAND = (
    "--kubeconfig={kubeconfig} kubelet-plugin --node-name={node} --datadir={plugins_dir}"
    " --plugin-registration-path={registry_dir} --cdi-dir={cdi_dir}"
)
EXPECTED = Path(__file__).with_name("upstream.json")

BUILT_BELOW = "/var/tmp/dra-kind"
"""Where the build script of the project's developers puts it; only read."""


def find() -> Path | None:
    """The driver's program: on PATH, or the newest one that was built."""
    found = shutil.which(PROGRAM)
    if found:
        return Path(found)
    home = Path(os.environ.get("DRA_KIND_HOME", BUILT_BELOW))
    built = sorted(home.glob(f"*/bin/{PROGRAM}"), key=lambda path: path.stat().st_mtime)
    return built[-1] if built else None


def options_of(program: Path) -> list[str]:
    """What pytest is given to judge it."""
    return [f"--dra-driver=exec:{program} {COMMAND}", f"--dra-driver-name={NAME}"]


def main(arguments: list[str]) -> int:
    """Judge it, and compare."""
    parser = argparse.ArgumentParser(prog="tests.drivers.upstream")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    program = find()
    if program is None:
        say(f"{PROGRAM} is neither on PATH nor below $DRA_KIND_HOME: build it first")
        return 2
    driver = options_of(program)
    with tempfile.TemporaryDirectory(prefix="dra-upstream-") as temporary:
        output = options.output or Path(temporary)
        runs = {
            f"run {number}": functools.partial(run, driver, output / f"run-{number}")
            for number in range(1, options.runs + 1)
        }
        return compare(runs, json.loads(EXPECTED.read_text("utf-8")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

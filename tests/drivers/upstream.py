"""Kubernetes' own DRA test driver, judged several times: the same states each time.

``python -m tests.drivers.upstream [--output DIR] [--runs N]``. The program ``dra-test-driver`` is
looked for on PATH and below ``$DRA_KIND_HOME``. What each case is expected to say stands in
``upstream.json``, with the reason from the driver's source for each one that does not pass. Exits 1
if a run differs, 2 if there is no such program.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

PROGRAM = "dra-test-driver"
NAME = "test-driver.cdi.k8s.io"
COMMAND = (
    "--kubeconfig={kubeconfig} kubelet-plugin --node-name={node} --datadir={plugins_dir}"
    " --plugin-registration-path={registry_dir} --cdi-dir={cdi_dir}"
)
EXPECTED = Path(__file__).with_name("upstream.json")

BUILT_BELOW = "/var/tmp/dra-kind"
"""Where the build script of the project's developers puts it; only read."""

LIMIT_S = 300.0
"""Longest run; it takes about 45 s, most of it the 30 s of the Go helper's repair of slices."""

TEXT_LIMIT = 200
"""Characters of a finding in the output."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """One run: its verdict, the state of each case, and why a case did not pass."""

    verdict: str
    states: Mapping[str, str]
    texts: Mapping[str, str]
    seconds: float


def find() -> Path | None:
    """The driver's program: on PATH, or the newest one that was built."""
    found = shutil.which(PROGRAM)
    if found:
        return Path(found)
    home = Path(os.environ.get("DRA_KIND_HOME", BUILT_BELOW))
    built = sorted(home.glob(f"*/bin/{PROGRAM}"), key=lambda path: path.stat().st_mtime)
    return built[-1] if built else None


def run(program: Path, output: Path) -> Seen:
    """Judge it once."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [f"--dra-driver=exec:{program} {COMMAND}", f"--dra-driver-name={NAME}"]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dra-upstream-") as empty:
        done = subprocess.run(
            [*command, f"--dra-output={output.absolute()}"],
            cwd=empty,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    file = output / "report.yaml"
    if not file.exists():
        raise RuntimeError(f"no report:\n{done.stdout}\n{done.stderr}")
    report: Mapping[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    return Seen(
        verdict=report["verdict"],
        states={entry["id"]: entry["state"] for entry in report["cases"]},
        texts={entry["id"]: _text(entry) for entry in report["cases"]},
        seconds=time.monotonic() - began,
    )


def _text(entry: Mapping[str, Any]) -> str:
    if entry["state"] == "failed":
        text = f"{entry['where']}: got {entry['got']}, want {entry['want']}"
    else:
        text = str(entry.get("reason") or entry.get("error", "")).strip()
    return " ".join(text.split())[:TEXT_LIMIT]


def differences(seen: Seen, expected: Mapping[str, Any]) -> list[str]:
    """What differs from the reviewed expectation; a case that it does not name has to pass."""
    found = []
    if seen.verdict != expected["verdict"]:
        found.append(f"verdict {seen.verdict}, expected {expected['verdict']}")
    wanted = {id: entry["state"] for id, entry in expected["cases"].items()}
    for id in sorted(set(seen.states) | set(wanted)):
        want, got = wanted.get(id, "passed"), seen.states.get(id, "not reported")
        if got != want:
            found.append(f"{id} {got}, expected {want}: {seen.texts.get(id, '')}")
    return found


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run, compare, print one line per run, its cases that do not pass, and a closing line."""
    parser = argparse.ArgumentParser(prog="tests.drivers.upstream")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    program = find()
    if program is None:
        _say(f"{PROGRAM} is neither on PATH nor below $DRA_KIND_HOME: build it first")
        return 2
    expected = json.loads(EXPECTED.read_text("utf-8"))
    passed = 0
    with tempfile.TemporaryDirectory(prefix="dra-upstream-") as temporary:
        for number in range(1, options.runs + 1):
            seen = run(program, (options.output or Path(temporary)) / f"run-{number}")
            wrong = differences(seen, expected)
            passed += not wrong
            agrees = "as expected" if not wrong else "; ".join(wrong)
            _say(f"run {number}: {seen.verdict} in {seen.seconds:.1f} s, {agrees}")
            for id, state in sorted(seen.states.items()):
                if state != "passed":
                    _say(f"  {id} {state}: {seen.texts[id]}")
    _say(f"{passed} passed, {options.runs - passed} failed")
    return 0 if passed == options.runs else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

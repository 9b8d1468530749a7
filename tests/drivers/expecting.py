"""A run on a driver that nobody here breaks, against what is reviewed and stored of it.

The stored form: ``{verdict, cases: {ID: {state, reason}}}``; a case that it does not name has to
pass. ``on_busy_machine`` is a second state, of a case that says itself that it had too little time.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

LIMIT_S = 900.0
"""Longest run; on an idle machine it takes 45 to 180 s, most of it the delays of the Go helper's
repair of slices (30 s after a change by others, 60 s where its cache may be wrong), and some times
that where everything else is tested beside it."""

TEXT_LIMIT = 200
"""Characters of a finding in the output."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """One run: its verdict, the state of each case, and why a case did not pass.

    What was judged on a cluster after wire depth is named ``ID[cluster]``.
    """

    verdict: str
    states: Mapping[str, str]
    texts: Mapping[str, str]
    seconds: float

    @property
    def counts(self) -> str:
        """How many cases ended in each state, in words."""
        found = sorted(Counter(self.states.values()).items())
        return ", ".join(f"{number} {state}" for state, number in found)


BENCHES = "2"
"""The drivers here have no hardware; what else CI does goes on beside them."""


def run(
    options: Sequence[str],
    output: Path,
    *,
    programs: Path | None = None,
    environ: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> Seen:
    """Judge a driver once.

    Args:
        options: of pytest.
        output: directory of the report.
        programs: a directory that comes first on PATH.
        environ: variables beside those of this process.
        limit_s: longest run.

    Raises:
        RuntimeError: there is no report.
        subprocess.TimeoutExpired: it took longer.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    env = {"PYTEST_DRA_BENCHES": BENCHES, **os.environ, **(environ or {})}
    if programs is not None:
        env["PATH"] = f"{programs}{os.pathsep}{env.get('PATH', os.defpath)}"
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dra-judged-") as empty:
        done = subprocess.run(
            [*command, f"--dra-output={output.absolute()}"],
            cwd=empty,
            env=env,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    file = output / "report.yaml"
    if not file.exists():
        raise RuntimeError(f"no report:\n{done.stdout}\n{done.stderr}")
    report: Mapping[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    return Seen(
        verdict=report["verdict"],
        states={_named(entry): entry["state"] for entry in report["cases"]},
        texts={_named(entry): _text(entry) for entry in report["cases"]},
        seconds=time.monotonic() - began,
    )


def _named(entry: Mapping[str, Any]) -> str:
    """The case id; with the depth, where a run has judged at two."""
    return f"{entry['id']}[{entry['parameter']}]" if entry.get("parameter") else str(entry["id"])


def _text(entry: Mapping[str, Any]) -> str:
    if entry["state"] == "failed":
        text = f"{entry['where']}: got {entry['got']}, want {entry['want']}"
    else:
        text = str(entry.get("reason") or entry.get("error", "")).strip()
    return " ".join(text.split())[:TEXT_LIMIT]


def differences(seen: Seen, expected: Mapping[str, Any]) -> list[str]:
    """What differs from the reviewed expectation."""
    found = []
    if seen.verdict != expected["verdict"]:
        found.append(f"verdict {seen.verdict}, expected {expected['verdict']}")
    known = expected["cases"]
    for id in sorted(set(seen.states) | set(known)):
        entry = known.get(id, {"state": "passed"})
        want, got = entry["state"], seen.states.get(id, "not reported")
        if got not in (want, entry.get("on_busy_machine")):
            found.append(f"{id} {got}, expected {want}: {seen.texts.get(id, '')}")
    return found


def compare(runs: Mapping[str, Callable[[], Seen]], expected: Mapping[str, Any]) -> int:
    """Run each, print one line for it, its cases that do not pass, and a closing line.

    Args:
        runs: by name; a run's expectation is ``expected[name]``, or ``expected`` itself.

    Returns:
        The exit status: 1 if a run differs.
    """
    passed = 0
    for name, judge in runs.items():
        seen = judge()
        wrong = differences(seen, expected.get(name, expected))
        passed += not wrong
        agrees = "as expected" if not wrong else "; ".join(wrong)
        say(f"{name}: {seen.verdict} in {seen.seconds:.1f} s, {agrees}")
        for id, state in sorted(seen.states.items()):
            if state != "passed":
                say(f"  {id} {state}: {seen.texts[id]}")
    say(f"{passed} passed, {len(runs) - passed} failed")
    return 0 if passed == len(runs) else 1


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()

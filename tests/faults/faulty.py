"""Judging the fake driver with one of its faults, in a process of its own."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_dra.cases import implemented

PROFILE = Path(__file__).with_name("dra-profile.yaml")
EXPECTED = Path(__file__).with_name("expected.json")

FEATURES = (
    "--features=taints,notices,partitions,shares,conditions,standard",
    PROFILE.with_name("features.yaml"),
)
"""For faults of features that the plain driver does not have."""

OTHERWISE = {
    **dict.fromkeys(("CAP-002", "CAP-003", "CAP-005", "CAP-006"), FEATURES),
    **dict.fromkeys(("CAP-007", "CAP-008", "CAP-009", "PART-010"), FEATURES),
    **dict.fromkeys(("TAINT-003", "TAINT-005", "TAINT-006"), FEATURES),
    "PREP-022": ("--variant=V11", PROFILE.with_name("one-consumer.yaml")),
    "REG-016": ("", PROFILE.with_name("nameless.yaml")),
    "SLICE-021": ("", PROFILE.with_name("network.yaml")),
}
"""Arguments of the driver and profile for faults that the plain driver cannot have."""

SHIPPED = frozenset(
    {"ATTR-009", "ATTR-013", "LIFE-006", "SEC-001", "SEC-002", "SEC-007", "STAT-004"}
)
"""Faults of the manifests: the driver prints them for the profile."""

UNDECLARED = {"LIFE-006": "SeamlessUpgrade"}
"""Features that the profile of a fault does not declare."""

PRINT_LIMIT_S = 60.0
"""Longest wait for the manifests."""

BENCHES = ("PYTEST_DRA_BENCHES", "2")
"""For a sweep, where nothing else is said: several runs share the machine already."""

RUN_LIMIT_S = 300.0
"""Longest run of the suite on one faulty driver."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a run said: ids by state, and the whole report."""

    failed: frozenset[str]
    errored: frozenset[str]
    passed: frozenset[str]
    report: Mapping[str, Any]
    output: str


def judge(
    *,
    fault: str = "",
    cases: str = "",
    output: Path | None = None,
    workers: int = 0,
    arguments: tuple[str, ...] = (),
) -> Verdict:
    """Run the suite on the fake driver.

    Args:
        fault: case id of the fault; empty for the good driver.
        cases: for ``--dra-case``; empty for all.
        output: directory of the report; a temporary one if None.
        workers: xdist workers, 0 for none.
        arguments: further options of pytest.
    """
    words, profile = OTHERWISE.get(fault, ("", PROFILE))
    driver = " ".join(["fake", words, f"--fault={fault}" if fault else ""])
    with tempfile.TemporaryDirectory(prefix="dra-fault-") as empty:
        if fault in SHIPPED:
            profile = _with_manifests(profile, fault, Path(empty))
        directory = output or Path(empty) / "results"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--dra-driver={driver}",
            f"--dra-profile={profile}",
            f"--dra-output={directory}",
            *([f"--dra-case={cases}"] if cases else []),
            *(["-n", str(workers)] if workers else []),
            *arguments,
        ]
        done = subprocess.run(
            command, cwd=empty, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False
        )
        file = directory / "report.yaml"
        if not file.exists():
            raise RuntimeError(f"no report from {command}:\n{done.stdout}\n{done.stderr}")
        report = yaml.safe_load(file.read_text("utf-8"))
    states: dict[str, set[str]] = {}
    for entry in report["cases"]:
        states.setdefault(entry["state"], set()).add(entry["id"])
    return Verdict(
        failed=frozenset(states.get("failed", ())),
        errored=frozenset(states.get("errored", ())),
        passed=frozenset(states.get("passed", ())),
        report=report,
        output=done.stdout + done.stderr,
    )


def _with_manifests(profile: Path, fault: str, directory: Path) -> Path:
    """The profile for a driver that ships its manifests with the fault."""
    command = [sys.executable, "-m", "pytest_dra.fake_driver", "--print-manifests"]
    done = subprocess.run(
        [*command, f"--fault={fault}"], capture_output=True, timeout=PRINT_LIMIT_S, check=True
    )
    manifests = directory / "manifests.yaml"
    manifests.write_bytes(done.stdout)
    changed = yaml.safe_load(profile.read_text("utf-8"))
    changed["manifests"] = [manifests.name]
    for feature in changed["features"]:
        if feature == UNDECLARED.get(fault):
            changed["features"][feature] = {"supported": False}
    written = directory / profile.name
    written.write_text(yaml.safe_dump(changed), "utf-8")
    return written


def also_failing(fault: str) -> frozenset[str]:
    """Cases that must fail with a fault beside its own, as reviewed."""
    reviewed = json.loads(EXPECTED.read_text("utf-8"))["also_fails"]
    return frozenset(entry["case"] for entry in reviewed.get(fault, ()))


def faults() -> list[str]:
    """All faults: one per case that the suite has."""
    return sorted(implemented())

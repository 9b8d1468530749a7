"""Judging the fake driver with one of its faults."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_dra.cases import implemented
from tests.sweep.pool import USUAL
from tests.sweep.pool import Ended
from tests.sweep.pool import Job
from tests.sweep.pool import report_of

PROFILE = Path(__file__).with_name("dra-profile.yaml")
EXPECTED = Path(__file__).with_name("expected.json")

FEATURES = (
    "--features=taints,notices,partitions,shares,conditions,standard,status,dynamic,health,metadata",
    PROFILE.with_name("features.yaml"),
)
"""For faults of features that the plain driver does not have."""

ALPHA = (
    "--features=partitions,groups",
    PROFILE.with_name("alpha.yaml"),
    "--dra-feature-gates=DRADeviceCompatibilityGroups=true",
)
"""For faults of features whose gates are off by default."""

OTHERWISE: Mapping[str, tuple[Any, ...]] = {
    **dict.fromkeys((f"BIND-{n:03}" for n in range(2, 7)), FEATURES),
    **dict.fromkeys((f"CAP-{n:03}" for n in range(2, 10)), FEATURES),
    **dict.fromkeys(("CONF-008", "PART-007", "PART-010"), FEATURES),
    **dict.fromkeys((f"HLTH-{n:03}" for n in (1, *range(3, 9), 10, *range(12, 16))), FEATURES),
    **dict.fromkeys((f"META-{n:03}" for n in range(1, 7)), FEATURES),
    **dict.fromkeys(("PART-008", "PART-009"), ALPHA),
    **dict.fromkeys(("STAT-001", "STAT-002", "STAT-003", "STAT-006", "STAT-007"), FEATURES),
    **dict.fromkeys(("TAINT-003", "TAINT-004", "TAINT-005", "TAINT-006"), FEATURES),
    "PREP-022": ("--variant=V11", PROFILE.with_name("one-consumer.yaml")),
    "REG-016": ("", PROFILE.with_name("nameless.yaml")),
    "FEAT-001": ("", PROFILE.with_name("network.yaml")),
    "SLICE-021": ("", PROFILE.with_name("network.yaml")),
}
"""Arguments of the driver, profile and options for faults that the plain driver cannot have."""

SHIPPED = frozenset(
    {
        "ATTR-009",
        "ATTR-013",
        "HLTH-011",
        "LIFE-006",
        "SEC-001",
        "SEC-002",
        "SEC-007",
        "STAT-004",
    }
)
"""Faults of the manifests: the driver prints them for the profile."""

UNDECLARED = {"LIFE-006": "SeamlessUpgrade"}
"""Features that the profile of a fault does not declare."""

PRINT_LIMIT_S = 60.0
"""Longest wait for the manifests."""

RESULTS = "results"

LONGEST = "SLICE-005"
"""With a pool that is never whole much of the suite waits for its deadlines, minutes in all."""

RUN_LIMIT_S = 900.0
"""Longest run on one faulty driver, that one on a busy machine."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a run said: ids by state, and the whole report."""

    failed: frozenset[str]
    errored: frozenset[str]
    passed: frozenset[str]
    report: Mapping[str, Any]


def job(fault: str, *, cases: str, directory: Path, name: str = "") -> Job:
    """A run of the suite on the fake driver.

    Args:
        fault: case id of the fault; empty for the good driver.
        cases: for ``--dra-case``; empty for all.
        directory: of the run; made here.
        name: of the job, where it is not the fault's.
    """
    words, profile, *options = OTHERWISE.get(fault, ("", PROFILE))
    directory.mkdir(parents=True)
    if fault in SHIPPED:
        profile = _with_manifests(profile, fault, directory)
    driver = " ".join(["fake", words, f"--fault={fault}" if fault else ""])
    arguments = (
        *USUAL,
        f"--rootdir={directory}",
        f"--dra-driver={driver}",
        f"--dra-profile={profile}",
        f"--dra-output={directory / RESULTS}",
        *options,
        *([f"--dra-case={cases}"] if cases else []),
    )
    return Job(name or fault, arguments, directory, RUN_LIMIT_S)


def verdict(ended: Ended) -> Verdict:
    """What a run has come to.

    Raises:
        RuntimeError: there is no report.
    """
    report = report_of(ended, RESULTS)
    states: dict[str, set[str]] = {}
    for entry in report["cases"]:
        if entry["provisional"]:
            continue
        states.setdefault(entry["state"], set()).add(entry["id"])
    return Verdict(
        failed=frozenset(states.get("failed", ())),
        errored=frozenset(states.get("errored", ())),
        passed=frozenset(states.get("passed", ())),
        report=report,
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

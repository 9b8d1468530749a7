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
from tests.sweep.profiles import profile_with

EXPECTED = Path(__file__).with_name("expected.json")

Changes = Mapping[str, Mapping[str, Any]]

YES, NO = {"supported": True}, {"supported": False}

SHORT: Changes = {
    "launch": {"service_account": None},
    "budgets": {"start": 8, "publish": 8, "repair": 10},
}
"""For all: a driver that never comes is found out soon, and may do everything."""

UNREVIEWED: Changes = {"injection": {"review": None}, "features": {"Hotplug": None}}
"""What the profiles of special drivers do not say."""

AILING: Changes = {
    "hooks": {
        "fault": ["touch", "{driver_dir}/faulty-{device}"],
        "heal": ["rm", "-f", "{driver_dir}/faulty-{device}"],
    }
}

FEATURED: tuple[Changes, ...] = (
    UNREVIEWED,
    AILING,
    {
        "hooks": {
            "metadata_update": ["touch", "{driver_dir}/update-{claim_uid}"],
            "inventory": ["ls", "{driver_dir}/partitions"],
        },
        "features": dict.fromkeys(
            (
                "DeviceTaints",
                "PartitionableDevices",
                "ConsumableCapacity",
                "BindingConditions",
                "DeviceMetadata",
                "DeviceHealth",
                "HealthMessage",
                "DeviceStatus",
                "DynamicPartition",
            ),
            YES,
        ),
        "budgets": {"binding": 5},
    },
)

ONE_CONSUMER: Changes = {
    "driver": {"deviceClasses": None, "reads_boot_id": None},
    "launch": {"inventory": None, "previous": None},
    "injection": {"absent_paths": None, "privileged": None},
    "samples": {"conflict": None},
    "hooks": {"observe": None, "hotplug": None},
    "features": {
        "MultiPodClaim": NO, "AdminAccess": None, "UpgradeFrom": None,
    },
    "budgets": {"repair": None},
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A driver that a fault needs: its arguments, what its profile says, and options of the run."""

    words: str = ""
    changes: tuple[Changes, ...] = ()
    options: tuple[str, ...] = ()


PLAIN = Kind()

FEATURES = Kind(
    words="--features=taints,notices,partitions,shares,conditions,standard,status,dynamic,health,metadata",
    changes=FEATURED,
)
"""For faults of features that the plain driver does not have."""

ALPHA = Kind(
    words="--features=partitions,groups",
    changes=(
        UNREVIEWED,
        AILING,
        {"features": {"PartitionableDevices": YES, "CompatibilityGroups": YES}},
    ),
    options=("--dra-feature-gates=DRADeviceCompatibilityGroups=true",),
)
"""For faults of features whose gates are off by default."""

NETWORK = Kind(
    changes=(
        UNREVIEWED,
        {
            "launch": {"previous": None},
            "features": {"NetworkAttached": YES, "UpgradeFrom": None},
        },
    )
)

OTHERWISE: Mapping[str, Kind] = {
    **dict.fromkeys((f"BIND-{n:03}" for n in range(2, 7)), FEATURES),
    **dict.fromkeys((f"CAP-{n:03}" for n in range(2, 10)), FEATURES),
    **dict.fromkeys(("CONF-008", "PART-007", "PART-010"), FEATURES),
    **dict.fromkeys((f"HLTH-{n:03}" for n in (1, *range(3, 9), 10, *range(12, 16))), FEATURES),
    **dict.fromkeys((f"META-{n:03}" for n in range(1, 7)), FEATURES),
    **dict.fromkeys(("PART-008", "PART-009"), ALPHA),
    **dict.fromkeys(("STAT-001", "STAT-002", "STAT-003", "STAT-006", "STAT-007"), FEATURES),
    **dict.fromkeys(("TAINT-003", "TAINT-004", "TAINT-005", "TAINT-006"), FEATURES),
    "PREP-022": Kind(words="--variant=V11", changes=(UNREVIEWED, ONE_CONSUMER)),
    "REG-016": Kind(changes=(UNREVIEWED, {"driver": {"name": None}})),
    **dict.fromkeys(("FEAT-001", "SLICE-021"), NETWORK),
}
"""The drivers of faults that the plain one cannot have."""

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

LONGEST = (
    "SLICE-005",
    "UNP-012",
    "RST-013",
    "HLTH-001",
    "UNP-013",
    "TAINT-003",
    "STAT-005",
    "PREP-015",
    "REG-014",
)
"""Faults at which much of the suite waits for its deadlines, 160 to 40 s: first, the longest of
them before the others, so that none is left alone at the end."""

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
    kind, profile = OTHERWISE.get(fault, PLAIN), profile_of(fault)
    directory.mkdir(parents=True)
    if fault in SHIPPED:
        _ship(profile, fault, directory)
    file = directory / "dra-profile.yaml"
    file.write_text(yaml.safe_dump(profile), "utf-8")
    driver = " ".join(["fake", kind.words, f"--fault={fault}" if fault else ""])
    arguments = (
        *USUAL,
        f"--rootdir={directory}",
        f"--dra-driver={driver}",
        f"--dra-profile={file}",
        f"--dra-output={directory / RESULTS}",
        *kind.options,
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


def profile_of(fault: str) -> dict[str, Any]:
    """The profile of the driver that a fault needs."""
    return profile_with(SHORT, *OTHERWISE.get(fault, PLAIN).changes)


def _ship(profile: dict[str, Any], fault: str, directory: Path) -> None:
    """Let the profile be of a driver that ships its manifests with the fault."""
    command = [sys.executable, "-m", "pytest_dra.fake_driver", "--print-manifests"]
    done = subprocess.run(
        [*command, f"--fault={fault}"], capture_output=True, timeout=PRINT_LIMIT_S, check=True
    )
    manifests = directory / "manifests.yaml"
    manifests.write_bytes(done.stdout)
    profile["manifests"] = [manifests.name]
    if fault in UNDECLARED:
        profile["features"][UNDECLARED[fault]] = NO


def also_failing(fault: str) -> frozenset[str]:
    """Cases that must fail with a fault beside its own, as reviewed."""
    reviewed = json.loads(EXPECTED.read_text("utf-8"))["also_fails"]
    return frozenset(entry["case"] for entry in reviewed.get(fault, ()))


def faults() -> list[str]:
    """All faults: one per case that the suite has."""
    return sorted(implemented())


def patience(fault: str) -> int:
    """Where a fault stands among those that take long: what is sorted by it begins with them."""
    return LONGEST.index(fault) if fault in LONGEST else len(LONGEST)

"""Judging the fake driver in one of its legal variants, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.faults.faulty import PROFILE
from tests.faults.faulty import RUN_LIMIT_S

BLOCKS: Mapping[str, Mapping[str, Any]] = {
    "V04-NRI": {"injection": {"kind": "nri"}},
    "V07-V1": {"driver": {"kubelets": {"min": "1.34"}}},
    "V07-V1BETA1": {"driver": {"kubelets": {"max": "1.33"}}},
    "V10-NONE": {"launch": {"hardware": "none", "inventory": None}},
    "V14": {"features": {"NetworkAttached": {"supported": True}}},
    "V17": {"features": {"NetworkAttached": {"supported": True}}},
    "V26": {"budgets": {"repair": 150}},
    "V26-60": {"budgets": {"repair": 150}},
    "V11": {"features": {"MultiPodClaim": {"supported": False}}},
}
"""What a variant must declare otherwise in the profile, by block."""


def judge(variant: str, *, cases: str = "") -> Mapping[str, str]:
    """Run the suite on a variant; the state of each case.

    Args:
        variant: for ``--variant``.
        cases: for ``--dra-case``; empty for all.

    Raises:
        RuntimeError: there is no report; the text is pytest's output.
    """
    with tempfile.TemporaryDirectory(prefix="dra-variant-") as empty:
        profile = yaml.safe_load(PROFILE.read_text("utf-8"))
        for name, block in BLOCKS.get(variant, {}).items():
            profile[name] = {**profile[name], **block}
        (Path(empty) / PROFILE.name).write_text(yaml.safe_dump(profile), "utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += [f"--dra-driver=fake --variant={variant}", f"--dra-profile={PROFILE.name}"]
        command += ["--dra-output=results", *([f"--dra-case={cases}"] if cases else [])]
        done = subprocess.run(
            command, cwd=empty, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False
        )
        file = Path(empty) / "results" / "report.yaml"
        if not file.exists():
            raise RuntimeError(f"no report from {command}:\n{done.stdout}\n{done.stderr}")
        report = yaml.safe_load(file.read_text("utf-8"))
    return {entry["id"]: entry["state"] for entry in report["cases"]}


def not_green(states: Mapping[str, str], *, selected: bool = False) -> dict[str, str]:
    """The cases that are neither passed nor not-applicable, nor deselected in a selected run."""
    fine = {"passed", "not-applicable", *(["not-run"] if selected else [])}
    return {id: state for id, state in states.items() if state not in fine}

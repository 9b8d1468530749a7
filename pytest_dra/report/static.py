"""Static findings of a run as SARIF, for review bots: what a driver publishes and ships.

Imports the writer inside of its functions, since it brings PyYAML along.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dra.report.redaction import redacted
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import Finding as Said
from pytest_dra.report.results import RunResult
from pytest_dra.spec import Depth

if TYPE_CHECKING:
    from pytest_dra.objects.findings import Finding

TOOL = "pytest-dra"

PLACE = re.compile(r"\(([^()]{1,1000}):([0-9]{1,9})\)")
"""How a finding in a manifest names file and line."""

PROFILE_OPTION = "--dra-profile"
NO_FILE = "report.yaml"
"""Stands for the file where a finding is about what the driver has sent and no profile is given."""


def render(run: RunResult, findings: Sequence[Finding] | None = None) -> str:
    """SARIF 2.1.0.

    Args:
        run: whose failed static cases are told.
        findings: of a review of objects, in their place.
    """
    from pytest_dra.objects import sarif

    told = findings_of(run) if findings is None else findings
    return redacted(json.dumps(sarif.document(told, TOOL), indent=2)) + "\n"


def findings_of(run: RunResult) -> list[Finding]:
    """The failed cases that objects alone decide, with the file and line that they name."""
    return [
        _told(run, each, each.finding)
        for each in run.results
        if each.finding is not None and each.case.depth is Depth.STATIC
    ]


def _told(run: RunResult, result: CaseResult, finding: Said) -> Finding:
    from pytest_dra.objects.findings import OF_LEVEL
    from pytest_dra.objects.findings import Finding

    where = finding.where
    place = PLACE.search(where)
    return Finding(
        rule=result.case.id,
        severity=OF_LEVEL[result.case.level],
        message=f"got {finding.got}, want {finding.want}",
        file=_relative(place.group(1)) if place else _fallback(run),
        line=int(place.group(2)) if place else 0,
        object=where,
        versions=(run.kubernetes,),
    )


def _fallback(run: RunResult) -> str:
    given = (each.value for each in run.options if each.name == PROFILE_OPTION and each.value)
    return _relative(str(next(given, NO_FILE)))


def _relative(file: str) -> str:
    """Seen from the working directory where it lies below it, as review bots want it."""
    path = Path(file)
    if not path.is_absolute():
        return file
    below = os.path.relpath(path)
    return path.name if below.startswith("..") else below

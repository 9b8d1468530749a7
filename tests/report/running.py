"""Runs and results for tests."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Scope
from pytest_dra.profile.model import DriverBlock
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import Finding
from pytest_dra.report.results import Option
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import Judgement
from pytest_dra.report.verdict import Summary
from pytest_dra.report.verdict import summarise
from pytest_dra.spec import Depth

STARTED = datetime.datetime(2026, 11, 29, 12, 0, tzinfo=datetime.timezone.utc)

MUST_ID = "PREP-001"
"""A MUST of NODE-CORE alone."""
OTHER_MUST_ID = "PREP-006"
SHOULD_ID = "REG-007"
FEATURE_MUST_ID = "HLTH-003"
"""A MUST of EXTENDED under DeviceHealth."""

OPTIONS = (
    Option(name="--dra-driver", value="exec:my driver --node={node}", source="command line"),
    Option(name="--dra-kubernetes", value="1.37", source="default"),
    Option(name="--dra-strict", value=True, source="ini"),
    Option(name="--dra-output", value="/private/place", source="environment"),
)

FINDING = Finding(where="claim 'a'", got="{}", want="an entry for each claim", source="proto: x")


def result(
    case_id: str, state: State = State.PASSED, *, reason: str = "deselected", **fields: Any
) -> CaseResult:
    """A result of a case of the catalogue, complete enough for its state."""
    if state is State.FAILED:
        fields.setdefault("finding", FINDING)
    elif state is State.ERRORED:
        fields.setdefault("error", "Traceback\nOSError: no space left")
    elif state is not State.PASSED:
        fields["reason"] = reason
    return CaseResult(case=catalogue().case(case_id), state=state, **fields)


def run_of(
    states: Mapping[str, State] | None = None,
    *,
    results: tuple[CaseResult, ...] = (),
    profile: DriverProfile = DEFAULT_PROFILE,
    depth: Depth = Depth.WIRE,
    implemented: tuple[str, ...] = (),
) -> RunResult:
    """A run in which these cases ended so."""
    made = (*(result(id_, state) for id_, state in (states or {}).items()), *results)
    ids = {*(each.case.id for each in made), *implemented}
    return RunResult(
        driver="gpu.example.com",
        launched="exec:my driver",
        kubernetes="1.37",
        depths=(depth,),
        cluster="embedded",
        implemented={id_: catalogue().case(id_) for id_ in sorted(ids)},
        results=made,
        started=STARTED,
        duration_s=1.5,
        profile=profile,
        options=OPTIONS,
        versions={"pytest-dra": "0.1.0", "python": "3.11"},
    )


def of_scope(scope: Scope) -> DriverProfile:
    return dataclasses.replace(DEFAULT_PROFILE, driver=DriverBlock(scope=scope))


def judged(summary: Summary, name: str) -> Judgement:
    """The judgement of one conformance profile."""
    return next(each for each in summary.profiles if each.name == name)


def overall(run: RunResult) -> tuple[str, str]:
    """The top-level verdict and its reason."""
    found = summarise(run).overall
    return found.verdict.value, found.reason

"""How the outcome of a case looks to pytest: outcome, text and attributes of its test report."""

from __future__ import annotations

import pytest

from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.launch import LaunchError
from pytest_dra.outcome import BenchError
from pytest_dra.outcome import Outcome
from pytest_dra.recorder import FACTS
from pytest_dra.recorder import RESULT
from pytest_dra.report.exits import fails_run
from pytest_dra.report.plain import plain
from pytest_dra.report.redaction import redacted
from pytest_dra.report.results import DESELECTED
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.report.results import not_run
from pytest_dra.report.telling import failure_text
from pytest_dra.session import Session
from pytest_dra.spec import Case

LOG_LINES = 30
"""Lines of the driver's output that pytest shows for a failed case."""

LOG_LIMIT = 16_384
"""Characters of these lines; one of them may be as long as a driver likes."""

SKIPPING = frozenset({State.WAIVED, State.UNSUPPORTED_ENVIRONMENT, State.NOT_RUN})
"""States that pytest shows as skipped: environment, input or waiver."""

SPEAKS_FOR_ITSELF = (BenchError, ClusterError, LaunchError)
"""Errors whose text says all; a traceback would only bury it."""


def show_judged(
    outcome: Outcome, session: Session, report: pytest.TestReport, *, strict: bool
) -> None:
    """Shape the report of the call in which the case was judged."""
    result = outcome.result
    setattr(report, RESULT, result.to_dict())
    setattr(report, FACTS, _facts(session))
    if result.state in (State.FAILED, State.ERRORED):
        log = "\n".join(outcome.log.splitlines()[-LOG_LINES:])
        if log:
            report.sections.append(("driver output (end)", redacted(plain(log, LOG_LIMIT))))
    if isinstance(outcome.error, SPEAKS_FOR_ITSELF):
        text = f"{result.case.id} errored, which is not the driver's: {outcome.error}"
        report.longrepr = redacted(text)
    if result.state is State.FAILED:
        report.longrepr = failure_text(result)
        show_not_met(result, report, strict=strict)


def show_not_met(result: CaseResult, report: pytest.TestReport, *, strict: bool) -> None:
    """Shape the report of a failed case: a SHOULD fails no run, unless it is strict."""
    if not fails_run(result, strict=strict):
        # pytest's way to say: it failed, and the run goes on and may still succeed.
        report.outcome = "skipped"
        where = result.finding.where if result.finding else ""
        report.wasxfail = redacted(f"{result.case.level.value} not met: {where}")


def show_unjudged(case: Case, report: pytest.TestReport, *, parameter: str = "") -> None:
    """Shape a report of set-up or teardown, or of a call that something else has ended."""
    if report.failed:
        result = CaseResult(
            case=case, state=State.ERRORED, error=str(report.longrepr), parameter=parameter
        )
        setattr(report, RESULT, result.to_dict())
    elif report.skipped:
        longrepr = report.longrepr
        why = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
        reason = f"{DESELECTED}: {why.removeprefix('Skipped: ')}"
        result = not_run(case, reason, parameter=parameter)
        setattr(report, RESULT, result.to_dict())


def _facts(session: Session) -> dict[str, object]:
    plugin = session.plugin()
    return {
        "driver": session.driver_name(),
        "service": plugin.service if plugin else "",
        "supported_versions": list(plugin.info.supported_versions) if plugin else [],
    }

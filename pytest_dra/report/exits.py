"""The exit status that a run of the suite deserves."""

from __future__ import annotations

from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import Summary
from pytest_dra.report.verdict import Verdict
from pytest_dra.spec import Level

OK = 0
FAILED = 1
"""pytest's own status for failed tests."""
NOTHING_RAN = 5
"""pytest's own status for a run that collected nothing."""

ENOUGH = {
    Verdict.CONFORMANT: frozenset({Verdict.CONFORMANT}),
    Verdict.PARTIAL: frozenset({Verdict.CONFORMANT, Verdict.PARTIAL}),
}
"""By the lowest verdict that is asked for: the verdicts that satisfy it."""

RAN = frozenset({State.PASSED, State.FAILED, State.ERRORED})


def exit_status(run: RunResult, summary: Summary, *, strict: bool, require: Verdict) -> int:
    """What pytest should exit with, as far as the conformance cases go.

    Args:
        run: must have been asked to judge a driver (not ``--co``, not ``--dra-suite=off``).
        summary: of that run.
        strict: a failed SHOULD fails the run.
        require: the lowest verdict that exits 0: CONFORMANT or PARTIAL.

    Returns:
        FAILED: a case errored, a MUST failed (a SHOULD too under ``strict``; a MAY never), or
        the verdict is lower than ``require``. NOTHING_RAN: none of this, but no MUST case ran.
        OK otherwise. Provisional cases count only where the suite itself broke.

    Raises:
        ValueError: ``require`` is another verdict.
    """
    if require not in ENOUGH:
        raise ValueError(f"a run cannot be asked to be {require.value}")
    if any(fails_run(each, strict=strict) for each in run.results):
        return FAILED
    musts = summary.counts[Level.MUST]
    if not any(musts[state] for state in RAN):
        return NOTHING_RAN
    return OK if summary.overall.verdict in ENOUGH[require] else FAILED


def fails_run(result: CaseResult, *, strict: bool) -> bool:
    """True if this result alone lets the run fail."""
    if result.state is State.ERRORED:
        return True
    failing = {Level.MUST, Level.SHOULD} if strict else {Level.MUST}
    return result.state is State.FAILED and not result.provisional and result.case.level in failing


def exit_reason(summary: Summary, status: int, *, require: Verdict) -> str:
    """One line for an exit status that the table of a summary does not explain.

    Args:
        summary: of the run.
        status: what :func:`exit_status` said of it.
        require: the lowest verdict that exits 0.
    """
    verdict = summary.overall.verdict
    if status == NOTHING_RAN:
        return f"exit status {status}: no MUST case ran"
    if status == FAILED and verdict is Verdict.PARTIAL and require is Verdict.CONFORMANT:
        return (
            f"exit status {status}: --dra-require={require.value} asks for more than "
            f"{verdict.value}; --dra-require={verdict.value} accepts it"
        )
    return ""

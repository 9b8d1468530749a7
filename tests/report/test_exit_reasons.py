"""The line that says why a run does not exit 0."""

from __future__ import annotations

import pytest

from pytest_dra.report.exits import FAILED
from pytest_dra.report.exits import NOTHING_RAN
from pytest_dra.report.exits import OK
from pytest_dra.report.exits import exit_reason
from pytest_dra.report.exits import fails_run
from pytest_dra.report.results import State
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import summarise
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import result
from tests.report.running import run_of

PARTIAL = summarise(run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.NOT_RUN}))


def test_a_partial_verdict_that_is_not_enough_names_the_option_that_accepts_it() -> None:
    assert exit_reason(PARTIAL, FAILED, require=Verdict.CONFORMANT) == (
        "exit status 1: --dra-require=conformant asks for more than partial; "
        "--dra-require=partial accepts it"
    )


def test_a_run_without_musts_says_so() -> None:
    summary = summarise(run_of({SHOULD_ID: State.PASSED}))
    found = exit_reason(summary, NOTHING_RAN, require=Verdict.PARTIAL)
    assert found == "exit status 5: no MUST case ran"


def test_what_the_table_says_already_is_not_said_again() -> None:
    broken = summarise(run_of({MUST_ID: State.FAILED}))
    assert exit_reason(broken, FAILED, require=Verdict.CONFORMANT) == ""
    assert exit_reason(PARTIAL, OK, require=Verdict.PARTIAL) == ""


@pytest.mark.parametrize(
    ("case", "state", "strict", "expected"),
    [
        (MUST_ID, State.FAILED, False, True),
        (SHOULD_ID, State.FAILED, False, False),
        (SHOULD_ID, State.FAILED, True, True),
        (SHOULD_ID, State.ERRORED, False, True),
        (MUST_ID, State.NOT_RUN, True, False),
    ],
)
def test_what_alone_fails_a_run(case: str, state: State, *, strict: bool, expected: bool) -> None:
    assert fails_run(result(case, state), strict=strict) is expected


def test_a_provisional_failure_does_not() -> None:
    assert not fails_run(result(MUST_ID, State.FAILED, provisional=True), strict=True)

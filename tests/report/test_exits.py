"""The exit status of a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dra.catalogue import catalogue
from pytest_dra.report.exits import exit_status
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import summarise
from pytest_dra.spec import Level
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import result
from tests.report.running import run_of

MAY_ID = next(each.id for each in catalogue().cases.values() if each.level is Level.MAY)

GOOD = {MUST_ID: State.PASSED}


def status(run: RunResult, *, strict: bool = False, require: Verdict = Verdict.CONFORMANT) -> int:
    return exit_status(run, summarise(run), strict=strict, require=require)


@pytest.mark.parametrize(
    ("states", "strict", "require", "wanted"),
    [
        pytest.param(GOOD, False, Verdict.CONFORMANT, 0, id="all-passed"),
        pytest.param({MUST_ID: State.FAILED}, False, Verdict.PARTIAL, 1, id="must-failed"),
        pytest.param(
            {**GOOD, SHOULD_ID: State.FAILED}, False, Verdict.CONFORMANT, 0, id="should-failed"
        ),
        pytest.param({**GOOD, SHOULD_ID: State.FAILED}, True, Verdict.CONFORMANT, 1, id="strict"),
        pytest.param({**GOOD, MAY_ID: State.FAILED}, True, Verdict.CONFORMANT, 0, id="may-failed"),
        pytest.param(
            {**GOOD, SHOULD_ID: State.ERRORED}, False, Verdict.PARTIAL, 1, id="should-errored"
        ),
        pytest.param(
            {**GOOD, OTHER_MUST_ID: State.NOT_RUN}, False, Verdict.CONFORMANT, 1, id="partial"
        ),
        pytest.param(
            {**GOOD, OTHER_MUST_ID: State.NOT_RUN}, False, Verdict.PARTIAL, 0, id="partial-will-do"
        ),
        pytest.param({}, False, Verdict.PARTIAL, 5, id="nothing"),
        pytest.param({MUST_ID: State.NOT_RUN}, False, Verdict.PARTIAL, 5, id="no-must-ran"),
        pytest.param({SHOULD_ID: State.PASSED}, False, Verdict.PARTIAL, 5, id="only-a-should-ran"),
        pytest.param(
            {"TAINT-001": State.NOT_APPLICABLE}, False, Verdict.PARTIAL, 5, id="none-applies"
        ),
    ],
)
def test_the_status_follows_from_the_results(
    states: dict[str, State], *, strict: bool, require: Verdict, wanted: int
) -> None:
    assert status(run_of(states), strict=strict, require=require) == wanted


def test_a_provisional_failure_fails_nothing() -> None:
    shy: CaseResult = result(OTHER_MUST_ID, State.FAILED, provisional=True)
    assert status(run_of(GOOD, results=(shy,)), strict=True) == 0


@given(
    states=st.dictionaries(
        st.sampled_from(sorted(catalogue().cases)), st.sampled_from(State), max_size=12
    ),
    strict=st.booleans(),
)
def test_zero_means_that_no_must_failed_and_one_passed(
    states: dict[str, State], *, strict: bool
) -> None:
    run = run_of(states)
    if status(run, strict=strict, require=Verdict.PARTIAL) == 0:
        musts = [each.state for each in run.results if each.case.level is Level.MUST]
        assert State.PASSED in musts
        assert State.FAILED not in musts
        assert State.ERRORED not in {each.state for each in run.results}


@pytest.mark.parametrize("require", [Verdict.INCONCLUSIVE, Verdict.NON_CONFORMANT])
def test_nobody_can_ask_for_a_bad_verdict(require: Verdict) -> None:
    with pytest.raises(ValueError, match="a run cannot be asked to be"):
        status(run_of(GOOD), require=require)

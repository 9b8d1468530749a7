"""Two reports compared: regressions first, and only they make it fail."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.report.comparison import Change
from pytest_dra.report.comparison import Comparison
from pytest_dra.report.comparison import compare
from pytest_dra.report.document import document
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import result
from tests.report.running import run_of

MAY_ID = next(id_ for id_, each in catalogue().cases.items() if each.level is Level.MAY)


def report(run: RunResult) -> Json:
    return document(run, summarise(run))


def compared(old: dict[str, State], new: dict[str, State]) -> Comparison:
    return compare(report(run_of(old)), report(run_of(new)))


@pytest.mark.parametrize(
    ("old", "new", "change", "regressed"),
    [
        (State.PASSED, State.FAILED, Change.REGRESSED, True),
        (State.PASSED, State.ERRORED, Change.REGRESSED, True),
        (State.PASSED, State.NOT_RUN, Change.LOST, True),
        (State.PASSED, State.WAIVED, Change.LOST, True),
        (State.PASSED, State.UNSUPPORTED_ENVIRONMENT, Change.LOST, True),
        (State.NOT_RUN, State.FAILED, Change.NEW_FAILURE, True),
        (State.PASSED, State.NOT_APPLICABLE, Change.WITHDRAWN, False),
        (State.FAILED, State.PASSED, Change.MENDED, False),
        (State.NOT_RUN, State.PASSED, Change.GAINED, False),
        (State.FAILED, State.WAIVED, Change.OTHER, False),
        (State.ERRORED, State.FAILED, Change.OTHER, False),
    ],
)
def test_what_has_become_of_a_should(
    old: State, new: State, change: Change, *, regressed: bool
) -> None:
    found = compared(
        {MUST_ID: State.PASSED, SHOULD_ID: old}, {MUST_ID: State.PASSED, SHOULD_ID: new}
    )
    (one,) = found.differences
    assert (one.id, one.old, one.new, one.change) == (SHOULD_ID, old.value, new.value, change)
    assert one.is_regression is found.has_regressed is regressed


def test_equal_reports_differ_in_nothing() -> None:
    found = compared({MUST_ID: State.FAILED}, {MUST_ID: State.FAILED})
    assert (found.differences, found.still, found.remarks) == ((), (MUST_ID,), ())
    assert not found.has_regressed


def test_a_case_that_is_no_longer_there_was_lost_and_a_new_one_gained() -> None:
    found = compared(
        {MUST_ID: State.PASSED, OTHER_MUST_ID: State.PASSED},
        {MUST_ID: State.PASSED, SHOULD_ID: State.PASSED},
    )
    assert [(each.id, each.old, each.new, each.change) for each in found.differences] == [
        (OTHER_MUST_ID, "passed", "absent", Change.LOST),
        (SHOULD_ID, "absent", "passed", Change.GAINED),
    ]


def test_regressions_come_first_and_the_must_among_them() -> None:
    found = compared(
        {
            MUST_ID: State.PASSED,
            OTHER_MUST_ID: State.FAILED,
            SHOULD_ID: State.PASSED,
            MAY_ID: State.PASSED,
        },
        {
            MUST_ID: State.FAILED,
            OTHER_MUST_ID: State.PASSED,
            SHOULD_ID: State.FAILED,
            MAY_ID: State.FAILED,
        },
    )
    assert [each.id for each in found.differences] == [MUST_ID, SHOULD_ID, MAY_ID, OTHER_MUST_ID]


def test_a_may_alone_is_no_regression() -> None:
    states = {MUST_ID: State.PASSED}
    found = compared({**states, MAY_ID: State.PASSED}, {**states, MAY_ID: State.FAILED})
    assert [each.change for each in found.differences] == [Change.REGRESSED]
    assert not found.has_regressed


def test_a_worse_verdict_is_a_regression() -> None:
    found = compared({MUST_ID: State.PASSED}, {MUST_ID: State.NOT_APPLICABLE})
    assert found.verdicts == ("conformant", "inconclusive")
    assert found.worse_verdict
    assert found.has_regressed


def test_provisional_results_do_not_count() -> None:
    before = run_of(results=(result(MUST_ID), result("HLTH-003", provisional=True)))
    after = run_of(results=(result(MUST_ID), result("HLTH-003", State.FAILED, provisional=True)))
    assert compare(report(before), report(after)).differences == ()


def test_the_worst_of_several_results_of_a_case_stands_for_it() -> None:
    before = run_of(results=(result(MUST_ID, parameter="a"), result(MUST_ID, parameter="b")))
    after = run_of(
        results=(result(MUST_ID, parameter="a"), result(MUST_ID, State.FAILED, parameter="b"))
    )
    (one,) = compare(report(before), report(after)).differences
    assert (one.change, one.detail) == (Change.REGRESSED, "claim 'a'")


def test_what_makes_reports_hard_to_compare_is_said() -> None:
    old = run_of({MUST_ID: State.PASSED})
    new = dataclasses.replace(old, driver="", kubernetes="1.36", cluster="apiserver")
    assert compare(report(old), report(new)).remarks == (
        "another driver: gpu.example.com before, unnamed now",
        "another Kubernetes version: 1.37 before, 1.36 now",
        "another cluster: embedded before, apiserver now",
    )

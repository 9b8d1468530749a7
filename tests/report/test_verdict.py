"""The rules that lead from states to a verdict."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import Scope
from pytest_dra.report.results import State
from pytest_dra.report.verdict import LACKING
from pytest_dra.report.verdict import Verdict
from pytest_dra.report.verdict import lacking_musts
from pytest_dra.report.verdict import summarise
from pytest_dra.report.verdict import verdict_of
from pytest_dra.report.verdict import worst
from pytest_dra.spec import Depth
from pytest_dra.spec import Level
from tests.report.running import FEATURE_MUST_ID
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import judged
from tests.report.running import of_scope
from tests.report.running import overall
from tests.report.running import result
from tests.report.running import run_of

Outcome = dict[str, tuple[Level, State]]

outcomes = st.dictionaries(
    st.sampled_from(sorted(catalogue().cases)),
    st.tuples(st.sampled_from(Level), st.sampled_from(State)),
    max_size=30,
)


def verdict(outcome: Outcome) -> Verdict:
    levels = {id_: level for id_, (level, _) in outcome.items()}
    return verdict_of(levels, {id_: state for id_, (_, state) in outcome.items()})[0]


def musts(outcome: Outcome) -> list[State]:
    return [state for level, state in outcome.values() if level is Level.MUST]


@given(outcomes)
def test_a_failed_must_is_non_conformant_whatever_else_came_out(outcome: Outcome) -> None:
    assert (verdict(outcome) is Verdict.NON_CONFORMANT) == (State.FAILED in musts(outcome))


@given(outcomes)
def test_a_must_that_nobody_judged_is_never_conformant(outcome: Outcome) -> None:
    if LACKING & set(musts(outcome)):
        assert verdict(outcome) is not Verdict.CONFORMANT


@given(outcomes)
def test_an_errored_must_is_never_conformant_nor_partial(outcome: Outcome) -> None:
    if State.ERRORED in musts(outcome):
        assert verdict(outcome) in (Verdict.INCONCLUSIVE, Verdict.NON_CONFORMANT)


@given(outcomes)
def test_conformant_means_that_every_applicable_must_passed_and_one_did(outcome: Outcome) -> None:
    applicable = [each for each in musts(outcome) if each is not State.NOT_APPLICABLE]
    good = bool(applicable) and set(applicable) == {State.PASSED}
    assert (verdict(outcome) is Verdict.CONFORMANT) == good


@given(outcomes)
def test_should_and_may_never_change_a_verdict(outcome: Outcome) -> None:
    alone = {id_: each for id_, each in outcome.items() if each[0] is Level.MUST}
    assert verdict(alone) is verdict(outcome)


@given(outcomes)
def test_what_does_not_apply_never_changes_a_verdict(outcome: Outcome) -> None:
    applicable = {id_: each for id_, each in outcome.items() if each[1] is not State.NOT_APPLICABLE}
    assert verdict(applicable) is verdict(outcome)


@given(st.lists(st.sampled_from(State), min_size=1))
def test_of_several_results_the_worst_stands_for_the_case(states: list[State]) -> None:
    found = worst(states)
    assert found in states
    if State.FAILED in states:
        assert found is State.FAILED


@pytest.mark.parametrize(
    ("states", "wanted"),
    [
        pytest.param(
            {MUST_ID: State.PASSED, SHOULD_ID: State.FAILED},
            ("conformant", "1 of 1 applicable MUST cases passed"),
            id="conformant",
        ),
        pytest.param(
            {MUST_ID: State.PASSED, OTHER_MUST_ID: State.WAIVED},
            ("partial", "1 of 2 applicable MUST cases not judged: PREP-006"),
            id="partial",
        ),
        pytest.param(
            {MUST_ID: State.FAILED, OTHER_MUST_ID: State.ERRORED},
            ("non-conformant", "1 of 2 applicable MUST cases failed: PREP-001"),
            id="non-conformant",
        ),
        pytest.param(
            {MUST_ID: State.PASSED, OTHER_MUST_ID: State.ERRORED},
            ("inconclusive", "1 of 2 applicable MUST cases errored: PREP-006"),
            id="errored",
        ),
        pytest.param(
            {MUST_ID: State.NOT_RUN, SHOULD_ID: State.PASSED},
            ("inconclusive", "no MUST case ran"),
            id="nothing-ran",
        ),
        pytest.param({}, ("inconclusive", "no MUST case ran"), id="nothing-at-all"),
    ],
)
def test_the_top_level_verdict_is_that_of_node_core(
    states: dict[str, State], wanted: tuple[str, str]
) -> None:
    assert overall(run_of(states)) == wanted
    assert summarise(run_of(states)).overall.name == "NODE-CORE"


def test_a_case_that_never_ran_keeps_the_driver_from_being_conformant() -> None:
    run = run_of({MUST_ID: State.PASSED}, implemented=(MUST_ID, OTHER_MUST_ID))
    assert overall(run)[0] == "partial"
    assert [each.case.id for each in lacking_musts(run)] == [OTHER_MUST_ID]


def test_a_case_that_the_suite_does_not_have_does_not_count() -> None:
    assert overall(run_of({MUST_ID: State.PASSED}))[0] == "conformant"


def test_a_result_of_a_case_that_is_not_implemented_is_left_out() -> None:
    run = run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.FAILED})
    only = dataclasses.replace(run, implemented={MUST_ID: catalogue().case(MUST_ID)})
    assert overall(only)[0] == "conformant"


def test_a_provisional_result_does_not_count() -> None:
    run = run_of(
        {MUST_ID: State.PASSED},
        results=(result(OTHER_MUST_ID, State.FAILED, provisional=True),),
    )
    assert overall(run)[0] == "conformant"
    assert summarise(run).counts[Level.MUST][State.FAILED] == 0
    assert lacking_musts(run) == ()


def test_one_failed_parameter_fails_its_case() -> None:
    run = run_of(
        results=(
            result(MUST_ID, parameter="v1"),
            result(MUST_ID, State.FAILED, parameter="v1beta1"),
        )
    )
    assert overall(run) == (
        "non-conformant",
        "1 of 1 applicable MUST cases failed: PREP-001",
    )
    assert sum(summarise(run).counts[Level.MUST].values()) == 1


def test_cases_are_counted_by_level_and_state() -> None:
    counts = summarise(
        run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.FAILED, SHOULD_ID: State.WAIVED})
    ).counts
    assert counts[Level.MUST][State.PASSED] == 1
    assert counts[Level.MUST][State.FAILED] == 1
    assert counts[Level.SHOULD][State.WAIVED] == 1
    assert sum(counts[Level.MAY].values()) == 0


def test_a_run_without_a_driver_says_nothing_about_node_core() -> None:
    run = run_of({"SLICE-005": State.PASSED}, depth=Depth.STATIC)
    core = judged(summarise(run), "NODE-CORE")
    assert (core.verdict.value, core.reason) == (
        "inconclusive",
        "judged at wire depth, with a driver that runs (--dra-driver=exec:COMMAND)",
    )
    assert summarise(run).overall.name == "STATIC"
    assert summarise(run).overall.verdict is Verdict.CONFORMANT


def test_a_run_without_a_cluster_says_nothing_about_cluster_core() -> None:
    found = judged(summarise(run_of({"REG-001": State.PASSED})), "CLUSTER-CORE")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "--dra-cluster=kind" in found.reason


def test_a_node_driver_is_not_called_a_conformant_controller() -> None:
    found = judged(summarise(run_of({"SLICE-001": State.PASSED})), "CONTROLLER")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert not found.applies
    assert found.reason == "driver.scope is node: there is no controller to judge"


def test_a_controller_is_judged_by_controller() -> None:
    run = run_of({"SLICE-001": State.PASSED}, profile=of_scope(Scope.CLUSTER))
    summary = summarise(run)
    assert summary.overall.name == "CONTROLLER"
    assert summary.overall.verdict is Verdict.CONFORMANT
    assert not judged(summary, "NODE-CORE").applies


def test_a_driver_of_both_kinds_is_judged_by_both() -> None:
    summary = summarise(run_of({"SLICE-001": State.PASSED}, profile=of_scope(Scope.BOTH)))
    assert judged(summary, "CONTROLLER").verdict is Verdict.CONFORMANT
    assert judged(summary, "NODE-CORE").verdict is Verdict.CONFORMANT


def test_declared_features_have_verdicts_of_their_own() -> None:
    declared = dataclasses.replace(DEFAULT_PROFILE, features={"DeviceHealth": True})
    run = run_of({MUST_ID: State.PASSED, FEATURE_MUST_ID: State.FAILED}, profile=declared)
    summary = summarise(run)
    assert [(each.name, each.verdict.value) for each in summary.features] == [
        ("DeviceHealth", "non-conformant")
    ]
    assert summary.overall.verdict is Verdict.CONFORMANT
    assert summarise(dataclasses.replace(run, profile=DEFAULT_PROFILE)).features == ()

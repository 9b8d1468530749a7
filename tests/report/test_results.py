"""A result is complete, bounded, and the same after a journey through JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dra.catalogue import catalogue
from pytest_dra.report.results import ERROR_LIMIT
from pytest_dra.report.results import EXCERPT_LINES
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import Finding
from pytest_dra.report.results import State
from pytest_dra.report.results import blocked_by
from pytest_dra.report.results import failed
from pytest_dra.report.results import input_missing
from pytest_dra.report.results import not_run
from pytest_dra.spec import Violation
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import result
from tests.report.running import run_of

texts = st.text(max_size=60)


@given(
    state=st.sampled_from([State.PASSED, State.ERRORED]),
    error=texts,
    excerpt=st.lists(texts, max_size=4),
    notes=st.lists(texts, max_size=4),
    provisional=st.booleans(),
    duration=st.floats(min_value=0, max_value=1e6),
    parameter=texts,
)
def test_a_result_survives_json(
    *,
    state: State,
    error: str,
    excerpt: list[str],
    notes: list[str],
    provisional: bool,
    duration: float,
    parameter: str,
) -> None:
    made = CaseResult(
        case=catalogue().case(MUST_ID),
        state=state,
        error=error,
        excerpt=tuple(excerpt),
        notes=tuple(notes),
        provisional=provisional,
        duration_s=duration,
        parameter=parameter,
    )
    carried = json.loads(json.dumps(made.to_dict()))
    assert CaseResult.from_dict(carried, case_of=catalogue().case) == made


def test_a_failed_result_survives_json() -> None:
    made = failed(catalogue().case(MUST_ID), Violation("a", got=b"\xff", want="b"), excerpt=("x",))
    carried = json.loads(json.dumps(made.to_dict()))
    assert CaseResult.from_dict(carried, case_of=catalogue().case) == made


def test_only_plain_types_cross_to_another_process() -> None:
    data = result(MUST_ID, State.FAILED).to_dict()
    assert {type(each) for each in data.values()} <= {str, bool, float, int, list, dict}


def test_the_sources_of_the_case_stand_in_for_those_of_the_violation() -> None:
    case = catalogue().case("REG-001")
    found = Finding.of(Violation("a", got=1, want="b"), case)
    assert found.source.startswith("kubelet: plugin watcher")
    assert "; kep: K4381 kubelet section" in found.source
    assert Finding.of(Violation("a", got=1, want="b", source="x"), case).source == "x"


def test_what_a_hostile_driver_said_is_bounded_and_printable() -> None:
    violation = Violation("w\x1b" * 10_000, got="g\x00" * 10_000_000, want="x", source="s")
    made = failed(catalogue().case(MUST_ID), violation, excerpt=["l\x07" * 10_000] * 1000)
    assert made.finding is not None
    assert len(json.dumps(made.to_dict())) < 200_000
    assert "\\x1b" in made.finding.where
    assert len(made.excerpt) == EXCERPT_LINES


def test_of_a_long_traceback_the_end_is_kept() -> None:
    made = result(MUST_ID, State.ERRORED, error="x" * 100_000 + "OSError: full")
    assert made.error.endswith("OSError: full")
    assert len(made.error) == ERROR_LIMIT


def test_a_failed_result_without_finding_is_refused() -> None:
    with pytest.raises(ValueError, match="PREP-001 is failed; a finding is of failed ones"):
        CaseResult(case=catalogue().case(MUST_ID), state=State.FAILED)


def test_a_result_that_was_not_judged_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="PREP-001 is waived without a reason"):
        CaseResult(case=catalogue().case(MUST_ID), state=State.WAIVED)


def test_the_reasons_of_what_did_not_run_name_what_is_missing() -> None:
    case = catalogue().case(MUST_ID)
    assert not_run(case, blocked_by({"REG-002", "REG-001"})).reason == "blocked by REG-001, REG-002"
    assert input_missing(["samples.bad_config"]) == "input missing: samples.bad_config"


def test_a_run_sorts_its_results_and_adds_what_never_ran() -> None:
    run = run_of({OTHER_MUST_ID: State.PASSED}, implemented=(MUST_ID, OTHER_MUST_ID))
    assert [(each.case.id, each.state.value, each.reason) for each in run.results] == [
        (MUST_ID, "not-run", "deselected"),
        (OTHER_MUST_ID, "passed", ""),
    ]


def test_a_parameter_is_part_of_the_name() -> None:
    assert result(MUST_ID, parameter="v1beta1").name == "PREP-001[v1beta1]"
    assert result(MUST_ID).name == MUST_ID

"""``report.yaml`` has the form of its schema, and two runs differ in their times alone."""

from __future__ import annotations

import dataclasses
import datetime
import json

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_dra.catalogue import catalogue
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.report.document import document
from pytest_dra.report.files import ReportError
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.report.yaml_report import SCHEMA
from pytest_dra.report.yaml_report import check
from pytest_dra.report.yaml_report import render
from pytest_dra.spec import Json
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import STARTED
from tests.report.running import result
from tests.report.running import run_of

EVERY_STATE = dict(zip(sorted(catalogue().cases), list(State) * 40, strict=False))


def report(run: RunResult) -> Json:
    return document(run, summarise(run))


def text(run: RunResult) -> str:
    return render(report(run))


def test_the_shipped_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_a_report_of_every_case_and_state_is_read_back_as_it_was() -> None:
    run = run_of(EVERY_STATE)
    assert yaml.safe_load(text(run)) == report(run)
    assert len(report(run)["cases"]) == len(catalogue().cases)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    states=st.dictionaries(
        st.sampled_from(sorted(catalogue().cases)), st.sampled_from(State), max_size=10
    ),
    said=st.text(max_size=80),
)
def test_whatever_came_out_and_was_said_the_report_is_valid(
    states: dict[str, State], said: str
) -> None:
    spoken = result(
        MUST_ID, State.ERRORED, error=said, notes=(said,), excerpt=(said,), parameter=said
    )
    run = dataclasses.replace(run_of(states, results=(spoken,)), driver=said)
    assert yaml.safe_load(text(run)) == report(run)


def test_two_runs_differ_in_their_times_alone() -> None:
    first = run_of({MUST_ID: State.PASSED, SHOULD_ID: State.FAILED})
    second = dataclasses.replace(
        run_of({SHOULD_ID: State.FAILED, MUST_ID: State.PASSED}),
        started=STARTED + datetime.timedelta(days=1),
        duration_s=9.25,
    )
    pairs = zip(text(first).splitlines(), text(second).splitlines(), strict=True)
    assert [one.partition(":")[0] for one, other in pairs if one != other] == [
        "durationSeconds",
        "startedAt",
    ]


def test_the_keys_are_sorted() -> None:
    top = [each for each in text(run_of({})).splitlines() if each[0] not in " -"]
    assert top == sorted(top)


def test_a_failed_case_says_where_got_want_and_from() -> None:
    (case,) = report(run_of({MUST_ID: State.FAILED}))["cases"]
    assert [case[key] for key in ("where", "got", "want", "from")] == [
        "claim 'a'",
        "{}",
        "an entry for each claim",
        "proto: x",
    ]
    assert case["breaks"] == catalogue().case(MUST_ID).breaks


def test_a_must_that_was_not_judged_stands_with_its_remedy() -> None:
    assert report(run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.NOT_RUN}))["missing"] == [
        {
            "case": OTHER_MUST_ID,
            "state": "not-run",
            "reason": "deselected",
            "remedy": f"leave the selection of cases out, or name it: --dra-case={OTHER_MUST_ID}",
        }
    ]


def test_the_report_is_said_to_be_no_certificate() -> None:
    assert "no certification by Kubernetes or the CNCF" in text(run_of({}))


def test_the_behaviours_of_the_upstream_proposal_are_mapped() -> None:
    found = report(run_of({"REG-001": State.PASSED}))["behaviours5970"]
    assert found["1"] == {"REG-001": "passed", "LIFE-001": "other-depth"}
    assert len(found) == 7


def test_seen_and_undeclared_features_are_listed() -> None:
    run = run_of(results=(result("TAINT-001", State.PASSED, provisional=True),))
    features = report(run)["features"]
    assert features["provisional"] == ["DeviceTaints"]
    assert "DeviceTaints" in features["undeclared"]
    assert "SharedClaim" in features["declared"]


def test_secrets_of_the_profile_and_the_command_line_are_redacted() -> None:
    data = {"launch": {"components": [{"name": "a", "env": {"API_TOKEN": "hush-hush"}}]}}
    run = dataclasses.replace(
        run_of({}),
        profile=dataclasses.replace(DEFAULT_PROFILE, data=data),
        launched="exec:d --kubeconfig=/home/me/config",
    )
    assert "hush-hush" not in text(run)
    assert "/home/me" not in text(run)


def test_texts_of_several_lines_are_readable() -> None:
    run = run_of(results=(result(MUST_ID, State.ERRORED, error="first\nsecond"),))
    assert "error: |-\n    first\n    second\n" in text(run)


def test_data_of_another_form_is_not_written() -> None:
    broken = report(run_of({})) | {"verdict": "fine", "extra": 1}
    with pytest.raises(ReportError) as caught:
        render(broken)
    assert str(caught.value) == (
        "the report has not the form of its schema: $.verdict: 'fine' is not one of "
        "['conformant', 'partial', 'non-conformant', 'inconclusive']; $: Additional properties "
        "are not allowed ('extra' was unexpected)"
    )


def test_a_failed_case_without_its_texts_is_refused() -> None:
    data = report(run_of({MUST_ID: State.FAILED}))
    del data["cases"][0]["want"]
    with pytest.raises(ReportError, match="'want' is a required property"):
        check(data)

"""The summary in the terminal: table, verdict, findings, and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_dra.catalogue import catalogue
from pytest_dra.report.results import Finding
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.terminal import summary_lines
from pytest_dra.report.verdict import summarise
from pytest_dra.spec import Level
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import result
from tests.report.running import run_of

DISCLAIMER = "This is the result of a test run. It is no certification by Kubernetes or the CNCF."
COMMAND = "reproduce: pytest '--dra-driver=exec:my driver --node={node}' --dra-strict"
MUST_IDS = [each.id for each in catalogue().cases.values() if each.level is Level.MUST]


def lines(run: RunResult) -> list[str]:
    return summary_lines(run, summarise(run), report=Path("dra-results/report.yaml"), width=80)


def test_a_good_run_is_told_in_a_few_lines() -> None:
    assert lines(run_of({MUST_ID: State.PASSED, SHOULD_ID: State.NOT_APPLICABLE})) == [
        "        passed  failed  errored  waived  unsupported  not run  not applicable",
        "MUST         1       0        0       0            0        0               0",
        "SHOULD       0       0        0       0            0        0               1",
        "MAY          0       0        0       0            0        0               0",
        "",
        "verdict: conformant (NODE-CORE at wire depth on Kubernetes 1.37): 1 of 1 applicable MUST "
        "cases passed",
        "report: dra-results/report.yaml",
        COMMAND,
        DISCLAIMER,
    ]


def test_on_a_narrow_terminal_levels_are_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.FAILED, SHOULD_ID: State.PASSED})
    told = ["MUST    1 passed, 1 failed", "SHOULD  1 passed", "MAY     none", ""]
    found = summary_lines(run, summarise(run), width=40)
    assert found[found.index(told[0]) :][:4] == told
    monkeypatch.setenv("COLUMNS", "40")
    assert summary_lines(run, summarise(run)) == found
    monkeypatch.setenv("COLUMNS", "80")
    assert told[0] not in summary_lines(run, summarise(run))


def test_a_failed_case_is_told_before_the_table() -> None:
    run = run_of(
        {SHOULD_ID: State.ERRORED},
        results=(result(MUST_ID, State.FAILED, excerpt=("+1.000 s #3 x",)),),
    )
    found = lines(run)
    assert found[:11] == [
        f"PREP-001 MUST {catalogue().case(MUST_ID).title}",
        "claim 'a'",
        "  got:  {}",
        "  want: an entry for each claim",
        "  from: proto: x",
        "  timeline:",
        "    +1.000 s #3 x",
        "",
        "REG-007 SHOULD errored, which is not the driver's fault",
        "  OSError: no space left",
        "",
    ]
    assert f"{COMMAND} --dra-case=PREP-001,REG-007" in found


def test_what_was_not_judged_is_grouped_by_its_reason() -> None:
    blocked = [
        result(id_, State.NOT_RUN, reason="blocked by REG-001")
        for id_ in ("PREP-001", "PREP-002", "PREP-003", "UNP-001")
    ]
    found = lines(run_of({"REG-002": State.PASSED}, results=tuple(blocked)))
    assert "not-run, blocked by REG-001: PREP-001..003, UNP-001" in found
    assert "  a MUST is among them; see why REG-001 did not pass: --dra-case=REG-001" in found


def test_a_should_that_did_not_run_needs_no_way_out() -> None:
    found = lines(run_of({MUST_ID: State.PASSED, SHOULD_ID: State.NOT_RUN}))
    assert "not-run, deselected: 1 of the cases" in found
    assert not [each for each in found if each.startswith("  a MUST is among them")]


def test_warnings_are_told_by_case_id_behind_the_verdict() -> None:
    found = lines(
        run_of(
            results=(
                result(SHOULD_ID, notes=("one", "two")),
                result(MUST_ID, notes=("a slow call",)),
            )
        )
    )
    told = [number for number, each in enumerate(found) if each.startswith("warning, ")]
    assert [found[number] for number in told] == [
        f"warning, {MUST_ID}: a slow call",
        f"warning, {SHOULD_ID}: one",
        f"warning, {SHOULD_ID}: two",
    ]
    assert found[told[0] - 1].startswith("verdict: ")


def test_of_many_warnings_some_are_told_and_the_rest_counted() -> None:
    notes = tuple(f"note {number}" for number in range(15))
    found = lines(run_of(results=(result(MUST_ID, notes=notes), result(SHOULD_ID, notes=notes))))
    assert len([each for each in found if each.startswith("warning, ")]) == 20
    assert "10 more warnings stand in the report" in found


def test_provisional_results_are_listed() -> None:
    run = run_of(
        {MUST_ID: State.PASSED},
        results=(result("TAINT-001", State.FAILED, provisional=True),),
    )
    assert "provisional (feature seen, not declared; not counted): TAINT-001 failed" in lines(run)


def test_other_profiles_are_told_where_the_run_could_judge_them() -> None:
    found = lines(run_of({"SLICE-005": State.PASSED, "REG-001": State.PASSED}))
    assert "  STATIC: conformant: 1 of 1 applicable MUST cases passed" in found
    assert not [each for each in found if each.startswith(("  CLUSTER-CORE", "  CONTROLLER"))]


def test_of_many_failures_only_some_are_told_at_length() -> None:
    found = lines(run_of(dict.fromkeys(MUST_IDS, State.FAILED)))
    assert len(found) < 120
    assert [each for each in found if each.startswith("and ") and each.endswith("; see the report")]


def test_a_must_is_told_before_a_should() -> None:
    found = lines(run_of({"REG-007": State.FAILED, OTHER_MUST_ID: State.FAILED}))
    assert found[0].startswith("PREP-006 MUST ")


def test_without_a_report_no_path_is_shown() -> None:
    run = run_of({})
    assert not [each for each in summary_lines(run, summarise(run)) if each.startswith("report:")]


@settings(max_examples=50, deadline=None)
@given(said=st.text(max_size=200))
def test_no_control_character_reaches_the_terminal(said: str) -> None:
    finding = Finding(where=said, got=said, want=said, source=said)
    run = run_of(results=(result(MUST_ID, State.FAILED, finding=finding, excerpt=(said,)),))
    assert all(each.replace("\t", "").isprintable() for each in lines(run))

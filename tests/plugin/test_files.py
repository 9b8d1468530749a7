"""What a run leaves in its output directory."""

from __future__ import annotations

import shlex
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from pytest_dra.report import yaml_report
from tests.plugin.conftest import EVERY
from tests.plugin.conftest import Runs

PARTIAL = "--dra-require=partial"


def kept(runs: Runs, directory: str = "dra-results") -> set[str]:
    folder = runs.folder / directory / "cases"
    return {each.name for each in folder.iterdir()} if folder.exists() else set()


@pytest.mark.parametrize(
    ("when", "ids"),
    [
        ("never", set()),
        ("on-failure", {"PREP-006", "REG-005"}),
        ("always", {"PREP-006", "REG-005", "PREP-001"}),
    ],
)
def test_logs_are_kept_when_asked_for(runs: Runs, when: str, ids: set[str]) -> None:
    runs.script(PREP_006="failed", REG_005="failed")
    runs.judge(f"--dra-logs={when}", "--dra-case=PREP-001,PREP-006,REG-005")
    assert kept(runs) == ids
    for id in ids:
        files = {each.name for each in (runs.folder / "dra-results" / "cases" / id).iterdir()}
        assert files == {"timeline.jsonl", "driver.log"}


def test_what_an_earlier_run_has_kept_goes_and_foreign_files_stay(runs: Runs) -> None:
    runs.script(PREP_006="failed", PREP_001="failed")
    runs.judge("--dra-case=PREP-001,PREP-006")
    note = runs.folder / "dra-results" / "cases" / "PREP-001" / "note.txt"
    note.write_text("mine")
    runs.script()
    runs.judge("--dra-case=PREP-001,PREP-006")
    assert kept(runs) == {"PREP-001"}
    assert [each.name for each in note.parent.iterdir()] == ["note.txt"]


def test_the_report_has_the_form_of_its_schema(runs: Runs) -> None:
    runs.script(PREP_006="failed", REG_005="errored", CDI_001="waived", CDI_002="not-applicable")
    runs.judge()
    yaml_report.check(runs.report())


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_warning_reaches_terminal_report_and_junit(runs: Runs, workers: tuple[str, ...]) -> None:
    runs.script(PREP_015="warned")
    done = runs.apart("--dra-driver=fake", "--dra-case=PREP-015,REG-014", *workers)
    done.stdout.fnmatch_lines(["warning, PREP-015: PREP-015 is slow"])
    notes = {each["id"]: each.get("notes") for each in runs.report()["cases"] if "notes" in each}
    assert notes == {"PREP-015": ["PREP-015 is slow"]}
    junit = ET.parse(runs.folder / "dra-results" / "junit.xml")  # noqa: S314 (written by ourselves)
    assert [each.text for each in junit.iter("system-out")] == ["PREP-015 is slow"]


TIMES = ("startedAt", "durationSeconds", "observations")


def without_times(report: dict[str, Any]) -> dict[str, Any]:
    stripped = {key: value for key, value in report.items() if key not in TIMES}
    stripped["cases"] = [
        {key: value for key, value in each.items() if key != "durationSeconds"}
        for each in report["cases"]
    ]
    return stripped


def test_two_runs_differ_in_their_times_alone(runs: Runs) -> None:
    runs.script(PREP_006="failed", CDI_001="waived")
    runs.judge()
    first = runs.report()
    runs.judge()
    assert without_times(first) == without_times(runs.report())


def test_junit_has_one_testcase_for_each_case_id(runs: Runs) -> None:
    runs.script(PREP_006="failed", REG_005="errored", CDI_001="waived")
    runs.judge()
    root = ET.parse(runs.folder / "dra-results" / "junit.xml").getroot()  # noqa: S314 - our own
    names = [each.get("name") for each in root.iter("testcase")]
    assert sorted(map(str, names)) == sorted(runs.cases())
    (failure,) = root.iter("failure")
    assert "\\x1b[31m<&>" in str(failure.text)


def test_hostile_text_of_a_driver_reaches_no_terminal(runs: Runs) -> None:
    runs.script(PREP_006="failed")
    done = runs.judge("--color=no", "--dra-case=PREP-006")
    assert "\x1b" not in done.stdout.str()
    done.stdout.fnmatch_lines(["*got:  '[\\\\]x1b*"])


def reproducing(done: pytest.RunResult) -> list[str]:
    (line,) = (line for line in done.outlines if line.startswith("reproduce: "))
    return shlex.split(line.removeprefix("reproduce: "))


def test_the_command_to_reproduce_judges_the_failed_cases_again(runs: Runs) -> None:
    runs.script(PREP_006="failed", CDI_001="failed")
    runs.environment(PYTEST_DRA_KUBERNETES="1.36")
    done = runs.judge("--dra-driver=fake --fault='PREP-006'", "--dra-strict", "-q")
    command = reproducing(done)
    assert command[0] == "pytest"
    assert command[1:] == [
        "--dra-driver=fake --fault='PREP-006'",
        "--dra-driver-name=fake.dra.example",
        "--dra-kubernetes=1.36",
        "--dra-strict",
        "--dra-case=CDI-001,PREP-006",
    ]
    again = runs.inside(*command[1:])
    again.assert_outcomes(failed=2, deselected=EVERY - 2)
    assert runs.report()["verdict"] == "non-conformant"


def test_without_a_failure_it_repeats_the_run_with_its_selection(runs: Runs) -> None:
    command = reproducing(runs.judge("--dra-case=prep-001,REG", PARTIAL))
    assert "--dra-case=prep-001,REG" in command


def test_no_node_id_is_ever_in_it(runs: Runs) -> None:
    runs.script(PREP_006="failed")
    done = runs.judge()
    assert not [word for word in reproducing(done) if "::" in word or ".py" in word]


def test_another_output_directory_may_be_made(runs: Runs) -> None:
    done = runs.judge("--dra-output=a/b/c", "--dra-case=PREP-001", PARTIAL)
    assert done.ret is pytest.ExitCode.OK
    assert runs.states("a/b/c")["PREP-001"] == "passed"
    done.stdout.fnmatch_lines([f"report: {runs.folder}/a/b/c/report.yaml"])


def test_the_summary_is_appended_where_github_and_the_user_want_it(runs: Runs) -> None:
    runs.script(PREP_006="failed")
    step = runs.folder / "step.md"
    step.write_text("before\n", "utf-8")
    runs.environment(GITHUB_STEP_SUMMARY=str(step))
    runs.judge("--dra-case=PREP-006", "--dra-summary=own.md")
    assert step.read_text("utf-8").startswith("before\n## ✗ DRA conformance: non-conformant\n")
    assert step.read_text("utf-8").removeprefix("before\n") == (runs.folder / "own.md").read_text(
        "utf-8"
    )
    assert "summary" not in runs.report()["reproduce"]["all"]


def test_a_summary_that_cannot_be_written_loses_no_report(runs: Runs) -> None:
    runs.script()
    done = runs.judge("--dra-case=PREP-006", "--dra-summary=absent/own.md")
    assert done.ret is pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["the summary cannot be appended to *absent/own.md: No such file*"])
    assert runs.states()["PREP-006"] == "passed"

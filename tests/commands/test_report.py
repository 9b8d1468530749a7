"""``dra-report``: exit codes, errors with file and position, and nothing that harms a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_dra.commands.report import run
from pytest_dra.report.document import document
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.report.yaml_report import render
from tests.report import hostile
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import run_of

PASSED = run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.PASSED, SHOULD_ID: State.NOT_RUN})
FAILED = run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.FAILED, SHOULD_ID: State.NOT_RUN})


def put(directory: Path, made: RunResult) -> str:
    """A directory of a run with its report; its path."""
    directory.mkdir(parents=True, exist_ok=True)
    text = render(document(made, summarise(made)))
    (directory / "report.yaml").write_text(text, encoding="utf-8")
    return str(directory)


@pytest.fixture
def good(tmp_path: Path) -> str:
    return put(tmp_path / "good", PASSED)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    return put(tmp_path / "bad", FAILED)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_a_report_as_it_was_written_is_unmodified(
    good: str, bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", good, f"{bad}/report.yaml"]) == 0
    assert said(capsys).splitlines() == [
        f"{good}/report.yaml: unmodified; gpu.example.com conformant (NODE-CORE, Kubernetes 1.37)",
        f"{bad}/report.yaml: unmodified; gpu.example.com non-conformant "
        "(NODE-CORE, Kubernetes 1.37)",
    ]


def test_a_changed_verdict_is_told_with_its_line(
    bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(bad) / "report.yaml"
    text = file.read_text("utf-8").replace("\nverdict: non-c", "\nverdict: c")
    file.write_text(text, "utf-8")
    line = text[: text.index("\nverdict: ")].count("\n") + 2
    assert run(["check", bad]) == 1
    told = said(capsys).splitlines()
    assert told[0] == f"{file}:{line}: verdict: conformant, but NODE-CORE is non-conformant"
    assert "checksum: the report was changed after it was written" in told[1]


@pytest.mark.parametrize(
    "words",
    [
        ["check", "FILE"],
        ["show", "FILE"],
        ["html", "FILE"],
        ["badge", "FILE"],
        ["diff", "FILE", "FILE"],
    ],
)
def test_what_is_no_report_is_told_with_file_and_position(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.yaml"
    file.write_text("kind: ConformanceReport\nverdict: [\x80\n", "latin-1")
    assert run([str(file) if each == "FILE" else each for each in words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"dra-report: {file}:2: not UTF-8\n"


def test_an_unknown_option_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["show", "--frobnicate"])
    assert caught.value.code == 2
    assert "usage: dra-report show" in capsys.readouterr().err


def test_a_regression_exits_1_and_its_mending_0(
    good: str, bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", good, bad]) == 1
    assert said(capsys) == (
        "verdict: conformant before, non-conformant now\n"
        "regressed:\n"
        f"  {OTHER_MUST_ID} MUST results of other drivers in a claim are ignored "
        "(passed -> failed): claim 'a'\n"
        "1 differences, 1 regressions, and the verdict is worse\n"
    )
    assert run(["diff", bad, good]) == 0
    assert "mended:\n" in said(capsys)


def test_a_comparison_is_told_to_programs(
    good: str, bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", "-o", "json", good, bad]) == 1
    found = json.loads(said(capsys))
    assert found["regressed"] is True
    assert found["verdicts"] == {"old": "conformant", "new": "non-conformant"}
    (one,) = found["differences"]
    assert (one["id"], one["change"], one["regression"]) == (OTHER_MUST_ID, "regressed", True)


def test_a_report_is_shown_on_one_screen(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", bad]) == 0
    told = said(capsys)
    assert told.startswith("gpu.example.com: non-conformant (NODE-CORE at wire depth on Kubernetes")
    assert "MUST   1 passed, 1 failed\n" in told
    assert f"{OTHER_MUST_ID} MUST failed: " in told
    assert "  want: an entry for each claim\n" in told
    assert f"not-run, deselected: {SHOULD_ID}\n" in told


def test_one_case_alone_is_shown(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", bad, f"--case={SHOULD_ID}"]) == 0
    assert said(capsys).splitlines()[1:] == ["  deselected"]
    assert run(["show", bad, "-o", "json", f"--case={MUST_ID}"]) == 0
    assert json.loads(said(capsys))[0]["state"] == "passed"
    assert run(["show", bad, "--case=PREP-999"]) == 2
    assert "it has no case PREP-999" in capsys.readouterr().err


def test_markdown_and_json_are_there(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", bad, "-o", "markdown"]) == 0
    assert said(capsys).startswith("## ")
    assert run(["show", bad, "-o", "json"]) == 0
    assert json.loads(said(capsys))["kind"] == "ConformanceReport"


def test_page_and_badge_go_to_a_file_or_to_the_output(
    good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["html", good, "--to", str(tmp_path / "x" / "a.html")]) == 0
    assert said(capsys) == ""
    hostile.must_be_harmless((tmp_path / "x" / "a.html").read_text("utf-8"))
    assert run(["badge", good]) == 0
    assert said(capsys).startswith("<svg ")
    assert run(["badge", good, "-o", "text"]) == 0
    assert said(capsys) == "pytest-dra NODE-CORE 2/2 MUST, 1.37\n"
    assert run(["badge", good, "-o", "json"]) == 0
    assert json.loads(said(capsys))["schemaVersion"] == 1


def test_a_place_that_cannot_be_written_to_is_named(
    good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "a.svg"
    for place, reason in ((below, "(Not a directory|File exists)"), (tmp_path, "Is a directory")):
        assert run(["badge", good, "--to", str(place)]) == 2
        told = capsys.readouterr().err
        wanted = f"dra-report: {re.escape(str(place))}: cannot be written: {reason}\n"
        assert re.fullmatch(wanted, told), told


def test_a_matrix_of_good_reports_exits_0_and_with_others_1(
    good: str, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["matrix", str(tmp_path)]) == 0
    hostile.must_be_harmless(said(capsys))
    (tmp_path / "broken.report.yaml").write_text("kind: [", "utf-8")
    assert run(["matrix", str(tmp_path), "--to", str(tmp_path / "m.html")]) == 1
    assert "broken.report.yaml" in capsys.readouterr().err
    assert "Not shown (1)" in (tmp_path / "m.html").read_text("utf-8")


def test_a_matrix_of_nothing_is_bad_input(tmp_path: Path) -> None:
    assert run(["matrix", str(tmp_path)]) == 2


def planted(value: Any) -> Any:
    """The same data with control characters in its texts."""
    if isinstance(value, dict):
        return {key: planted(each) for key, each in value.items()}
    if isinstance(value, list):
        return [planted(each) for each in value]
    return value.replace("evil.example", "\x1b[2J\u202e\x9b") if isinstance(value, str) else value


@pytest.mark.parametrize(
    "words",
    [
        ["check", "DIR"],
        ["show", "DIR"],
        ["show", "DIR", "-o", "json"],
        ["show", "DIR", "-o", "markdown"],
        ["diff", "DIR", "DIR"],
        ["html", "DIR"],
        ["badge", "DIR"],
        ["matrix", "DIR"],
    ],
)
def test_a_hostile_report_moves_no_terminal(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = hostile.run()
    # What a run writes is printable already: such a report was made by hand.
    data = planted(document(made, summarise(made)))
    (tmp_path / "report.yaml").write_text(yaml.safe_dump(data), "utf-8")
    place = str(tmp_path)
    code = run([place if each == "DIR" else each for each in words])
    shown = capsys.readouterr()
    assert code == (1 if words[0] == "check" else 0)
    assert not hostile.CONTROLS & set(shown.out + shown.err)

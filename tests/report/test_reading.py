"""Reports from elsewhere are read in bounds; what is wrong is told with file and position."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from pathlib import Path

import pytest

from pytest_dra.report import reading
from pytest_dra.report.document import document
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import read
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.report.yaml_report import problems_of
from pytest_dra.report.yaml_report import render
from tests.report import hostile
from tests.report.running import MUST_ID
from tests.report.running import run_of

RUN = run_of({MUST_ID: State.FAILED})
DATA = document(RUN, summarise(RUN))
TEXT = render(DATA)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "report.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def problem(file: Path, text: str | bytes) -> str:
    """What is said of a file with this content, its own name left out."""
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(BadReport) as caught:
        read(file)
    return str(caught.value).replace(str(file), "FILE")


def test_a_report_is_read_as_it_was_written(file: Path) -> None:
    assert read(file).raw == DATA


def test_what_has_another_form_is_told_line_by_line(file: Path) -> None:
    line = TEXT.splitlines().index("verdict: non-conformant") + 1
    changed = TEXT.replace("\nverdict: non-conformant\n", "\nverdict: fine\n", 1)
    assert problem(file, changed) == (
        f"FILE:{line}: verdict: 'fine' is not one of "
        "['conformant', 'partial', 'non-conformant', 'inconclusive']"
    )


def test_a_field_that_is_missing_is_told_where_it_belongs(file: Path) -> None:
    line = TEXT.splitlines().index("cases:") + 2
    text = TEXT.replace("  want: an entry for each claim\n", "")
    assert problem(file, text) == f"FILE:{line}: cases[0]: 'want' is a required property"


def test_many_problems_are_bounded(file: Path) -> None:
    text = TEXT.replace("failed: 0", "failed: -1").replace("passed: 0", "passed: -1")
    lines = problem(file, text).split("\n")
    assert len(lines) == reading.PROBLEMS_SHOWN + 1
    assert lines[-1].endswith(" more problems")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a: [1]]", "FILE:1:7: not YAML: "),
        ("kind: Pod\n", "FILE:1: no report of pytest-dra: kind is not ConformanceReport"),
        ("- a\n", "FILE:1: no report of pytest-dra"),
        ("", "FILE:1: no report of pytest-dra"),
        (b"a: 1\nb: \xff\n", "FILE:2: not UTF-8"),
        ("a: 1\nb: \x07\n", "FILE:2: a character that YAML forbids"),
        ("a: &x [1]\nb: *x\n", "FILE:1:4: an alias of this is refused"),
        (
            "a: &x {b: 1}\nc:\n  <<: *x\n",
            "FILE:3:3: merge keys and",
        ),
        (
            "a: !!python/object/apply:os.system [id]\n",
            "FILE:1:4: the tag python/object/",
        ),
        ("a: 1\na: 2\n", "FILE:2:1: 'a' stands twice"),
        ("a: !!binary aGk=\n", "FILE:1:4: the tag binary is refused"),
        ("a: !!set {b}\n", "FILE:1:4: the tag set is refused"),
        ("[a]: 1\n", "FILE:1:1: merge keys and keys that are no text are refused"),
        ("a: " + "[" * 300 + "]" * 300, "FILE:1:67: nested more than 64 levels deep"),
        ("[" * 100_000, "FILE:"),
        ("a: 1\n--- \nb: 1\n", "FILE:2:1: not YAML: "),
    ],
    ids=lambda each: repr(each[:20]),
)
def test_what_is_no_report_is_refused_in_one_line(
    file: Path, text: str | bytes, wanted: str
) -> None:
    told = problem(file, text)
    assert told.startswith(wanted)
    assert "\n" not in told


def test_aliases_that_would_explode_end_at_once(file: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert problem(file, "\n".join(lines)) == "FILE:1:5: an alias of this is refused"


def test_merge_keys_that_would_explode_end_at_once(file: Path) -> None:
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 30)]
    assert "merge keys and keys" in problem(file, "\n".join(lines))


def test_a_file_that_is_too_large_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SIZE_LIMIT", 1024 * 1024)
    assert problem(file, b" " * (1024 * 1024 + 1)) == "FILE: larger than 1 MiB: no report"


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(BadReport, match="cannot be read: No such file"):
        read(tmp_path / "absent")
    with pytest.raises(BadReport, match="cannot be read: Is a directory"):
        read(tmp_path)


def test_a_pipe_without_a_writer_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadReport, match="no report of pytest-dra"):
        read(tmp_path / "pipe")


def test_the_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert read(Path("-")).raw == DATA


def test_many_small_values_are_refused_before_they_fill_the_memory(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_dra.report.tree.VALUES_LIMIT", 5000)
    assert problem(file, f"{TEXT}x: [{'1,' * 5000}]\n") == "FILE: more than 5000 keys and values"
    file.write_text(TEXT, "utf-8")
    assert read(file).raw == DATA
    assert gc.isenabled(), "also after a document that is refused"


@pytest.mark.parametrize("field", ["cases", "options", "reproduce"])
def test_more_than_any_run_can_say_is_not_held_against_the_schema(
    field: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_dra.report.reading.SOME_LIMIT", 1000)
    monkeypatch.setattr("pytest_dra.report.reading.problems_of", lambda _: pytest.fail("asked"))
    told = problem(file, render_loosely({**DATA, field: [{"a": [1] * 100}] * 10}))
    assert told.endswith(f": {field}: more than 1000 values: no report")


def test_a_profile_and_many_nodes_are_no_reason_to_refuse_a_report(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_dra.report.reading.SOME_LIMIT", 1000)
    file.write_text(render({**DATA, "profile": {"x": [1] * 2000}}), "utf-8")
    assert read(file).raw["profile"] == {"x": [1] * 2000}


def render_loosely(data: object) -> str:
    return json.dumps(data)


class Untouchable(dict[str, object]):
    """An item that nobody may hold against another one: thousands of them would take minutes."""

    def __eq__(self, other: object) -> bool:
        pytest.fail("compared")

    __hash__ = None


def test_what_stands_twice_in_a_list_is_found_without_holding_all_against_all() -> None:
    judged = {**DATA["profiles"][0], "failed": [Untouchable(a=1), Untouchable(a=2)]}
    data = {**DATA, "profiles": [judged, *DATA["profiles"][1:]]}
    told = [message for _, message in problems_of(data)]
    assert told == ["{'a': 1} is not of type 'string'", "{'a': 2} is not of type 'string'"]
    data["profiles"][0]["failed"] = ["SLICE-001", "SLICE-002", "SLICE-001"]
    assert [message for _, message in problems_of(data)] == ['"SLICE-001" stands twice']


def test_figures_of_calls_are_whole(file: Path) -> None:
    figures = {**DATA["figures"], "prepare": {"calls": 7}}
    told = problem(file, render_loosely({**DATA, "figures": figures}))
    for name in ("p50", "p99", "max", "bars"):
        assert f"figures.prepare: '{name}' is a required property" in told


def test_problems_move_no_terminal(file: Path) -> None:
    evil = TEXT.replace("verdict: non-conformant\n", 'verdict: "\\e[2J\\u202e"\n', 1)
    assert not hostile.CONTROLS & set(problem(file, evil))


def test_data_to_be_shown_are_printable(file: Path) -> None:
    text = TEXT.replace("gpu.example.com", '"\\e[2J\\u202e"')
    file.write_text(text, encoding="utf-8")
    assert read(file).data["driver"]["name"] == "\\x1b[2J\\u202e"


@pytest.mark.parametrize(
    "value",
    [
        {
            "a": [
                1,
                -2,
                0.5,
                1e-9,
                1e300,
                True,
                False,
                None,
                "",
                "yes",
                "1",
                "1e3",
                "0x1f",
                "~",
                "<<",
            ]
        },
        {"x: y": "# no comment", "-": ["- a", "a: b", "'", '"', "a\nb\n", " a ", "\t", "é", "😀"]},
        {"": {"deep": [[], {}, [[{}]]]}, "2026-11-30": "2026-11-30", "=": "=", "1_000": "1_000"},
    ],
)
def test_data_of_a_profile_come_back_as_they_were(file: Path, value: dict[str, object]) -> None:
    file.write_text(render({**DATA, "profile": value}), encoding="utf-8")
    assert read(file).raw["profile"] == value


def test_numbers_that_json_does_not_have_stay_texts(file: Path) -> None:
    file.write_text(TEXT.replace("durationSeconds: 1.5", "durationSeconds: .inf"), "utf-8")
    with pytest.raises(BadReport, match=r"durationSeconds: '.inf' is not of type 'number'"):
        read(file)

"""Many reports on one page."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_dra.report import matrix
from pytest_dra.report.document import document
from pytest_dra.report.reading import BadReport
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.report.yaml_report import render
from tests.report import hostile
from tests.report.running import MUST_ID
from tests.report.running import OTHER_MUST_ID
from tests.report.running import SHOULD_ID
from tests.report.running import result
from tests.report.running import run_of

RUN = run_of({MUST_ID: State.PASSED, OTHER_MUST_ID: State.FAILED, SHOULD_ID: State.PASSED})


def put(directory: Path, name: str, run: RunResult = RUN) -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(document(run, summarise(run))), encoding="utf-8")
    return path


def test_reports_are_found_by_their_names_at_any_depth(tmp_path: Path) -> None:
    for name in ("report.yaml", "1.37/acme/gpu/report.yaml", "b/v1-report.yaml", "a.report.yaml"):
        put(tmp_path, name)
    (tmp_path / "other.yaml").touch()
    assert len(matrix.find(tmp_path)) == 4


def test_a_directory_without_reports_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadReport, match="no report in it"):
        matrix.find(tmp_path)
    with pytest.raises(BadReport, match="no directory"):
        matrix.find(tmp_path / "absent")


def test_a_cell_counts_what_applies(tmp_path: Path) -> None:
    (row,), problems = matrix.rows([put(tmp_path, "report.yaml")], below=tmp_path)
    assert problems == []
    assert (row.driver, row.kubernetes, row.verdict, row.musts, row.file) == (
        "gpu.example.com",
        "1.37",
        "non-conformant",
        (1, 2),
        "report.yaml",
    )
    prep, reg, slices = row.cells["PREP"], row.cells["REG"], row.cells["SLICE"]
    assert (prep.state, prep.musts, prep.detail) == ("failed", (1, 2), f"{OTHER_MUST_ID} failed")
    assert (reg.state, reg.musts, reg.shoulds) == ("passed", (0, 0), (1, 1))
    assert slices.state == "not-applicable"


def test_an_area_with_a_failed_should_alone_is_not_green(tmp_path: Path) -> None:
    path = put(tmp_path, "report.yaml", run_of({MUST_ID: State.PASSED, SHOULD_ID: State.FAILED}))
    (row,), _ = matrix.rows([path], below=tmp_path)
    assert row.cells["REG"].state != "passed"


def test_provisional_results_do_not_count_and_the_worst_of_a_case_does(tmp_path: Path) -> None:
    run = run_of(
        results=(
            result(MUST_ID, parameter="a"),
            result(MUST_ID, State.FAILED, parameter="b"),
            result("HLTH-003", State.FAILED, provisional=True),
        )
    )
    (row,), _ = matrix.rows([put(tmp_path, "report.yaml", run)], below=tmp_path)
    assert row.cells["PREP"].musts == (0, 1)
    assert row.cells["HLTH"].state == "not-applicable"


def test_rows_are_by_driver_and_version(tmp_path: Path) -> None:
    newer = dataclasses.replace(RUN, kubernetes="1.37")
    older = dataclasses.replace(RUN, kubernetes="1.36")
    other = dataclasses.replace(RUN, driver="a.example.com")
    paths = [put(tmp_path, f"{n}/report.yaml", run) for n, run in enumerate((newer, older, other))]
    found, _ = matrix.rows(paths, below=tmp_path)
    assert [(each.driver[0], each.kubernetes) for each in found] == [
        ("a", "1.37"),
        ("g", "1.36"),
        ("g", "1.37"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "x: [",
        "kind: ConformanceReport\n",
        "kind: ConformanceReport\ncases: 3\nverdictOf: {}\n",
        "kind: ConformanceReport\nverdictOf: {profile: 1}\nverdict: conformant\ncases: [[]]\n",
    ],
)
def test_what_is_no_report_is_told_on_the_page(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "report.yaml").write_text(text, encoding="utf-8")
    put(tmp_path, "report.yaml")
    found, problems = matrix.rows(matrix.find(tmp_path), below=tmp_path)
    assert len(found) == len(problems) == 1
    shown = "".join(hostile.must_be_harmless(matrix.render(found, problems)).texts)
    assert "Not shown (1)" in shown
    assert "bad/report.yaml" in shown


def test_hostile_reports_are_harmless(tmp_path: Path) -> None:
    found, problems = matrix.rows([put(tmp_path, "report.yaml", hostile.run())], below=tmp_path)
    assert problems == []
    hostile.must_be_harmless(matrix.render(found, [hostile.EVIL]))


def test_every_table_has_a_cell_for_each_heading(tmp_path: Path) -> None:
    found, problems = matrix.rows([put(tmp_path, "report.yaml")], below=tmp_path)
    elements = hostile.must_be_harmless(matrix.render(found, problems)).found
    heads = sum(attrs.get("scope") == "col" for _, attrs in elements)
    cells = sum(tag == "td" or attrs.get("scope") == "row" for tag, attrs in elements)
    assert heads == cells

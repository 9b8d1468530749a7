"""The matrix of faults and cases is made row by row, and goes on where it was ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_dra.cases import implemented
from tests.faults import matrix
from tests.faults.faulty import faults
from tests.faults.matrix import GOOD
from tests.faults.matrix import Part
from tests.faults.matrix import is_as_reviewed

COMMITTED = matrix.MATRIX

ROW = {"failed": ["REG-001"], "errored": [], "not-run": [], "passed": 1}
CASES = {"REG-001", "REG-002"}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(matrix, "MATRIX", tmp_path / "matrix.json")
    monkeypatch.setattr(matrix, "PART", tmp_path / "matrix.part.json")
    monkeypatch.setattr(matrix, "commit", lambda: "abc")
    return tmp_path


def test_a_row_is_there_again_at_the_same_commit_with_the_same_cases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Part(CASES).add("REG-001", ROW)
    assert Part(CASES).rows == {"REG-001": ROW}
    assert Part({"REG-001"}).rows == {}
    monkeypatch.setattr(matrix, "commit", lambda: "def")
    assert Part(CASES).rows == {}


def test_what_is_not_committed_is_not_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "commit", lambda: f"abc{matrix.DIRTY}")
    Part(CASES).add("REG-001", ROW)
    assert Part(CASES).rows == {}


def test_the_matrix_says_its_commit_date_and_cases(files: Path) -> None:
    part = Part(CASES)
    part.add(GOOD, {**ROW, "failed": []})
    part.add("REG-001", ROW)
    part.finish()
    made = json.loads((files / "matrix.json").read_text("utf-8"))
    assert {name: made[name] for name in ("commit", "cases", "faults")} == {
        "commit": "abc",
        "cases": sorted(CASES),
        "faults": {"REG-001": ROW},
    }
    assert made["good"]["failed"] == []
    assert len(made["date"]) == len("2026-11-30")
    assert [path.name for path in files.iterdir()] == ["matrix.json"]


@pytest.mark.parametrize(
    ("name", "row", "reviewed"),
    [
        ("REG-001", ROW, True),
        ("REG-002", ROW, False),
        (GOOD, ROW, False),
        ("REG-001", {**ROW, "errored": ["REG-002"]}, False),
        ("REG-001", {**ROW, "problem": "no report"}, False),
    ],
)
def test_exactly_the_right_cases_fail(name: str, row: matrix.Row, reviewed: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    assert matrix.is_as_reviewed(name, row, CASES) is reviewed


def test_the_committed_matrix_has_a_row_for_each_fault_and_is_as_it_was_reviewed() -> None:
    data = json.loads(COMMITTED.read_text("utf-8"))
    chosen = data["cases"]
    assert set(chosen) == implemented()
    assert set(data["faults"]) == set(faults())
    rows = {GOOD: data["good"], **data["faults"]}
    assert [name for name, row in rows.items() if not is_as_reviewed(name, row, chosen)] == []

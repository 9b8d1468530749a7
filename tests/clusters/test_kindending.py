"""A cluster whose creation was cut short is deleted until nothing more of it can come."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.clusters import kindending
from pytest_dra.clusters.kindrecords import KindRecords
from tests.clusters.stubs import Stub
from tests.clusters.stubs import said


@pytest.fixture(autouse=True)
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KindRecords:
    """Where clusters are written down, in a folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = KindRecords()
    found.note("c")
    return found


def test_it_is_deleted_several_times_and_then_forgotten(
    tmp_path: Path, records: KindRecords
) -> None:
    stub = Stub(tmp_path, "kind")
    _, *words = kindending.ending("c", [stub.program, "delete", "cluster", "--name", "c"])
    assert words[:2] == ["-m", "pytest_dra.clusters.kindending"]
    assert kindending.main(words[2:], pause_s=0.01) == 0
    assert stub.calls() == [["delete", "cluster", "--name", "c"]] * 3
    assert records.known() == []


def test_one_that_cannot_be_deleted_stays_known(tmp_path: Path, records: KindRecords) -> None:
    stub = Stub(tmp_path, "kind", said(3))
    assert kindending.main(["c", stub.program], pause_s=0.01) == 3
    assert records.known() == ["c"]

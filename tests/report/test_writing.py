"""Report files are written whole, or the option that is wrong is named."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_dra.report.files import ReportError
from pytest_dra.report.files import output_must_be_writable
from pytest_dra.report.files import write_whole
from pytest_dra.report.results import State
from pytest_dra.report.verdict import summarise
from pytest_dra.report.writing import write_reports
from tests.report.running import MUST_ID
from tests.report.running import run_of

IMPORT_TIMEOUT_S = 60


def test_all_files_lie_in_a_directory_that_is_made_for_them(tmp_path: Path) -> None:
    run = run_of({MUST_ID: State.PASSED})
    path = write_reports(run, summarise(run), tmp_path / "a" / "b")
    assert path == tmp_path / "a" / "b" / "report.yaml"
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "badge.json",
        "badge.svg",
        "findings.sarif",
        "junit.xml",
        "report.html",
        "report.yaml",
    ]


def test_an_older_report_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "report.yaml").write_text("old", encoding="utf-8")
    run = run_of({MUST_ID: State.PASSED})
    assert "kind: ConformanceReport" in write_reports(run, summarise(run), tmp_path).read_text(
        encoding="utf-8"
    )


def test_the_umask_decides_who_may_read_a_report(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "x", "y")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_a_link_in_the_place_of_a_report_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    (tmp_path / "report.yaml").symlink_to(tmp_path / "precious")
    write_whole(tmp_path / "report.yaml", "new")
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"


def test_an_output_below_a_file_is_refused_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ReportError) as caught:
        output_must_be_writable(tmp_path / "file" / "out")
    assert str(caught.value) == (
        f"--dra-output={tmp_path}/file/out: cannot write there: Not a directory. "
        "Name a directory that you may write to with --dra-output=DIR."
    )


def test_an_output_without_permission_is_refused_with_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", forbidden)
    with pytest.raises(ReportError, match="cannot write there: Permission denied"):
        output_must_be_writable(tmp_path)
    with pytest.raises(ReportError, match="cannot write there: Permission denied"):
        write_whole(tmp_path / "report.yaml", "x")


def test_trying_the_output_leaves_nothing_in_it(tmp_path: Path) -> None:
    output_must_be_writable(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.yaml").write_text("old", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ReportError, match="No space left on device"):
        write_whole(tmp_path / "report.yaml", "new")
    assert [each.name for each in tmp_path.iterdir()] == ["report.yaml"]
    assert (tmp_path / "report.yaml").read_text(encoding="utf-8") == "old"


def test_a_report_costs_nothing_before_it_is_written() -> None:
    program = (
        "import sys; from pytest_dra.report import writing, terminal, exits;"
        "print(sorted({'yaml','jsonschema','jinja2','pytest','grpc','aiohttp'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=IMPORT_TIMEOUT_S
    )
    assert ran.stdout.strip() == "[]", ran.stderr

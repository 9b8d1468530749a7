"""All report files of a run, into one directory."""

from __future__ import annotations

from pathlib import Path

from pytest_dra.report import junit
from pytest_dra.report import yaml_report
from pytest_dra.report.document import document
from pytest_dra.report.files import write_whole
from pytest_dra.report.results import RunResult
from pytest_dra.report.verdict import Summary

REPORT = "report.yaml"
JUNIT = "junit.xml"


def write_reports(run: RunResult, summary: Summary, directory: Path) -> Path:
    """Write ``report.yaml`` and ``junit.xml``; return the path of the former.

    Both texts are made before either is written.

    Raises:
        ReportError: the directory cannot be written to, or the report breaks its own schema.
    """
    texts = {
        JUNIT: junit.render(run, summary),
        REPORT: yaml_report.render(document(run, summary)),
    }
    for name, text in texts.items():
        write_whole(directory / name, text)
    return directory / REPORT

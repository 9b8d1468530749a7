"""All report files of a run, into one directory, from one tree of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dra.report import badge
from pytest_dra.report import html
from pytest_dra.report import junit
from pytest_dra.report import markdown
from pytest_dra.report import static
from pytest_dra.report import yaml_report
from pytest_dra.report.document import document
from pytest_dra.report.files import append
from pytest_dra.report.files import write_whole
from pytest_dra.report.results import RunResult
from pytest_dra.report.verdict import Summary

if TYPE_CHECKING:
    from pytest_dra.objects.findings import Finding

REPORT = "report.yaml"
JUNIT = "junit.xml"
PAGE = "report.html"
BADGE = "badge.json"
PICTURE = "badge.svg"
FINDINGS = "findings.sarif"


def write_reports(
    run: RunResult,
    summary: Summary,
    directory: Path,
    *,
    findings: Sequence[Finding] | None = None,
    summaries: Sequence[Path] = (),
) -> Path:
    """Write the report in all its forms; return the path of ``report.yaml``.

    All texts are made before one of them is written, and that one last.

    Args:
        run: what came out.
        summary: of that run.
        directory: where the files go.
        findings: of a review of objects; by default the failed static cases.
        summaries: files to which the summary in Markdown is appended.

    Raises:
        ReportError: a file cannot be written, or the report breaks its own schema.
    """
    data = document(run, summary)
    report = yaml_report.render(data)
    texts = {
        JUNIT: junit.render(run, summary),
        PAGE: html.render(data),
        BADGE: badge.endpoint(data),
        PICTURE: badge.picture(data),
        FINDINGS: static.render(run, findings),
        REPORT: report,
    }
    told = markdown.render(data) if summaries else ""
    for name, text in texts.items():
        write_whole(directory / name, text)
    for each in summaries:
        append(each, told)
    return directory / REPORT

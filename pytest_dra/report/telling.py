"""The text of a failed case, the same for people at a terminal and for readers of JUnit."""

from __future__ import annotations

from pytest_dra.report.redaction import redacted
from pytest_dra.report.results import CaseResult


def failure_text(result: CaseResult) -> str:
    """Where, got, want, from and the timeline of a failed case, a fact a line, no secret."""
    lines = [f"{result.name} {result.case.level.value} {result.case.title}"]
    if result.finding is not None:
        lines += [
            result.finding.where,
            f"  got:  {result.finding.got}",
            f"  want: {result.finding.want}",
            f"  from: {result.finding.source}",
        ]
    if result.excerpt:
        lines += ["  timeline:", *(f"    {each}" for each in result.excerpt)]
    return redacted("\n".join(lines))

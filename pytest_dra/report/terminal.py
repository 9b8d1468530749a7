"""The summary at the end of a run, as lines for pytest's terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.checks import observations
from pytest_dra.report import behaviours
from pytest_dra.report import nodes
from pytest_dra.report.document import DISCLAIMER
from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import spelled_ids
from pytest_dra.report.redaction import redacted
from pytest_dra.report.remedies import command
from pytest_dra.report.remedies import remedy
from pytest_dra.report.results import DESELECTED
from pytest_dra.report.results import ENDED_BEFORE
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import RunResult
from pytest_dra.report.results import State
from pytest_dra.report.telling import failure_text
from pytest_dra.report.verdict import LACKING
from pytest_dra.report.verdict import Counts
from pytest_dra.report.verdict import Judgement
from pytest_dra.report.verdict import Summary
from pytest_dra.report.verdict import Verdict
from pytest_dra.spec import Depth
from pytest_dra.spec import Level

SHOWN_WHOLE = 10
"""Failed cases told at length: whoever has more reads the report."""

REASONS_SHOWN = 20
"""Different reasons of cases that were not judged."""

WARNINGS_SHOWN = 20
"""Warnings in the terminal; the report has all of them."""

COLUMNS = {
    State.PASSED: "passed",
    State.FAILED: "failed",
    State.ERRORED: "errored",
    State.WAIVED: "waived",
    State.UNSUPPORTED_ENVIRONMENT: "unsupported",
    State.NOT_RUN: "not run",
    State.NOT_APPLICABLE: "not applicable",
}
"""The table's headings, in their order."""

COLOURS = {
    Verdict.CONFORMANT.value: "green",
    Verdict.PARTIAL.value: "yellow",
    Verdict.NON_CONFORMANT.value: "red",
    Verdict.INCONCLUSIVE.value: "yellow",
}
"""Of the line with the verdict."""

LEVEL_WIDTH = max(len(level.value) for level in Level)


def summary_lines(
    run: RunResult,
    summary: Summary,
    *,
    report: Path | None = None,
    remarks: Sequence[str] = (),
    width: int = 0,
) -> list[str]:
    """The summary of a run.

    Args:
        run: what came out.
        summary: of that run.
        report: the written ``report.yaml``; None if none was written.
        remarks: on the run as a whole, such as why it does not exit 0.
        width: columns of the terminal; 0: of the one that there is.

    Returns:
        Printable lines without line ends or markup.
    """
    width = width or shutil.get_terminal_size().columns
    table = list(_table(summary.counts))
    # A table that a terminal folds is none.
    fits = max(map(len, table)) <= width
    lines = [*_failures(run), *(table if fits else _listed(summary.counts)), ""]
    lines += [
        *_early(run),
        *_verdicts(run, summary),
        *nodes.lines({"nodes": nodes.as_data(run.nodes)}),
        *_warnings(run),
        *_lacking(run),
        *_provisional(run),
        *([behaviours.line_of(run)] if run.depth is Depth.CLUSTER else ()),
        *(one_line(line) for line in observations.lines(run.observations)),
    ]
    lines += remarks
    if report is not None:
        lines.append(f"report: {report}")
    again = [each.case.id for each in _bad(run)]
    lines += [f"reproduce: {command(run, again)}", DISCLAIMER]
    return [part for line in lines for part in redacted(line).split("\n")]


def _bad(run: RunResult) -> list[CaseResult]:
    """Failed and errored results that count, MUST before SHOULD before MAY."""
    order = list(Level)
    found = [
        each
        for each in run.results
        if each.state in (State.FAILED, State.ERRORED) and not each.provisional
    ]
    return sorted(found, key=lambda each: order.index(each.case.level))


def _failures(run: RunResult) -> Iterator[str]:
    bad = _bad(run)
    for each in bad[:SHOWN_WHOLE]:
        if each.state is State.FAILED:
            yield failure_text(each)
        else:
            # Redacted as a whole: a line alone may be the middle of a key.
            last = redacted(each.error).strip().rpartition("\n")[2]
            yield f"{each.name} {each.case.level.value} errored, which is not the driver's fault"
            yield f"  {last}"
        yield ""
    if bad[SHOWN_WHOLE:]:
        yield f"and {spelled_ids(each.case.id for each in bad[SHOWN_WHOLE:])}; see the report"
        yield ""


def _table(counts: Counts) -> Iterator[str]:
    yield " " * LEVEL_WIDTH + "".join(f"  {heading}" for heading in COLUMNS.values())
    for level, states in counts.items():
        cells = (f"  {states[state]:>{len(heading)}}" for state, heading in COLUMNS.items())
        yield f"{level.value:<{LEVEL_WIDTH}}{''.join(cells)}"


def _listed(counts: Counts) -> Iterator[str]:
    """The table where there is no room for it: a line a level, with the states that occur."""
    for level, states in counts.items():
        found = [
            f"{states[state]} {heading}" for state, heading in COLUMNS.items() if states[state]
        ]
        yield f"{level.value:<{LEVEL_WIDTH}}  {', '.join(found) or 'none'}"


def _early(run: RunResult) -> Iterator[str]:
    left = sum(each.reason == ENDED_BEFORE for each in run.results)
    if left:
        yield ended_early(left)


def ended_early(left: int) -> str:
    """What is said where so many cases were left over; the same in every form of the report."""
    cases = "1 case was" if left == 1 else f"{left} cases were"
    return f"the run ended early: {cases} left over, and this report is of a part only"


def marks_of(line: str) -> dict[str, bool]:
    """How a line of the summary looks on a terminal that has colours, in pytest's words."""
    verdict = line.removeprefix("verdict: ").partition(" ")[0]
    if line.startswith("verdict: ") and verdict in COLOURS:
        return {COLOURS[verdict]: True, "bold": True}
    return {"yellow": True} if line.startswith(("the run ended early", "warning, ")) else {}


def _verdicts(run: RunResult, summary: Summary) -> Iterator[str]:
    overall = summary.overall
    yield (
        f"verdict: {overall.verdict.value} ({overall.name} at {overall.depth.value} depth on "
        f"Kubernetes {run.kubernetes}): {overall.reason}"
    )
    for each in summary.profiles:
        if each is not overall and each.applies and _told(run, each):
            yield f"  {each.name}: {each.verdict.value}: {each.reason}"
    for each in summary.features if run.reaches(Depth.WIRE) else ():
        yield f"  feature {each.name}: {each.verdict.value}: {each.reason}"


def _told(run: RunResult, judged: Judgement) -> bool:
    """True if the run could judge the profile at all, so that a line about it says something."""
    ran = any(each not in LACKING | {State.NOT_APPLICABLE} for each in judged.states.values())
    return run.reaches(judged.depth) and (ran or judged.verdict is not Verdict.INCONCLUSIVE)


def _warnings(run: RunResult) -> Iterator[str]:
    """What cases remark without being failed for it, by case id."""
    found = [f"warning, {each.name}: {note}" for each in run.results for note in each.notes]
    yield from found[:WARNINGS_SHOWN]
    if len(found) > WARNINGS_SHOWN:
        yield f"{len(found) - WARNINGS_SHOWN} more warnings stand in the report"


def _lacking(run: RunResult) -> Iterator[str]:
    """Cases that were not judged, grouped by their reason; the remedy where a MUST is concerned.

    Those that the user has left out are only counted: the user knows, and they may be many.
    """
    groups: dict[tuple[str, str], list[CaseResult]] = {}
    for each in run.results:
        if each.state in LACKING and not each.provisional:
            groups.setdefault((each.state.value, each.reason), []).append(each)
    for (state, reason), members in list(groups.items())[:REASONS_SHOWN]:
        which = spelled_ids(each.case.id for each in members)
        if reason == DESELECTED:
            which = f"{len(members)} of the cases"
        yield f"{state}, {reason}: {which}"
        musts = [each for each in members if each.case.level is Level.MUST]
        way_out = remedy(musts[0]) if musts else ""
        if way_out:
            yield f"  a MUST is among them; {way_out}"
    if len(groups) > REASONS_SHOWN:
        yield f"{len(groups) - REASONS_SHOWN} more reasons stand in the report"


def _provisional(run: RunResult) -> Iterator[str]:
    found = [each for each in run.results if each.provisional]
    if found:
        told = ", ".join(f"{each.name} {each.state.value}" for each in found[:REASONS_SHOWN])
        yield f"provisional (feature seen, not declared; not counted): {told}"

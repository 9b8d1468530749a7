"""``dra-report show``: a report for people at a terminal, or in another form."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Final

from pytest_dra.commands import reportoutput as output
from pytest_dra.commands.texts import write_json
from pytest_dra.report import markdown
from pytest_dra.report import nodes
from pytest_dra.report.page import Page
from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import spelled_ids
from pytest_dra.report.reading import BadReport
from pytest_dra.report.reading import read
from pytest_dra.report.results import State
from pytest_dra.spec import Json
from pytest_dra.spec import Level

_TEXT: Final = "text"
_OUTPUTS: Final = (_TEXT, "markdown", "json")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    output.add_report(parser)
    parser.add_argument("-o", "--output", choices=_OUTPUTS, default=_TEXT)
    parser.add_argument("--case", metavar="ID", help="this case alone, with all that is known")


def run(arguments: argparse.Namespace) -> int:
    """Show."""
    data = read(arguments.report).data
    if arguments.case is not None:
        cases = [each for each in data["cases"] if each["id"] == arguments.case]
        if not cases:
            raise BadReport(f"{arguments.report}: it has no case {arguments.case}")
        data = {**data, "cases": cases, "missing": []}
    if arguments.output == "json":
        write_json(data if arguments.case is None else data["cases"])
    elif arguments.output == "markdown":
        sys.stdout.write(markdown.render(data))
    else:
        page = Page(data)
        lines = _case_lines(page) if arguments.case is not None else _lines(page)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return output.GOOD


def _lines(page: Page) -> Iterator[str]:
    data, of = page.data, page.data["verdictOf"]
    yield (
        f"{one_line(data['driver']['name']) or 'unnamed driver'}: {data['verdict']} "
        f"({of['profile']} at {of['depth']} depth on Kubernetes {of['kubernetes']}): {of['reason']}"
    )
    if page.early:
        yield page.early
    yield from nodes.lines(data)
    for level in Level:
        numbers = data["counts"][level.value]
        told_states = [
            f"{numbers[each.value]} {each.value}" for each in State if numbers[each.value]
        ]
        yield f"{level.value:6} {', '.join(told_states) or 'none'}"
    for each in page.bad:
        yield ""
        yield from _failure(each)
    for group in page.groups:
        ids = spelled_ids(case["id"] for case in group.cases)
        yield f"{group.state}, {group.reason}: {ids}"
        if group.remedy:
            yield f"  way out: {group.remedy}"
    for each in page.provisional:
        yield f"provisional, not counted: {each['id']} {each['state']}"
    for id_, note in page.remarks:
        yield f"warning, {id_}: {note}"
    yield f"reproduce: {data['reproduce']['failed'] or data['reproduce']['all']}"
    yield data["disclaimer"]


def _failure(case: Json) -> Iterator[str]:
    yield f"{case['id']} {case['level']} {case['state']}: {case['title']}"
    if case["state"] == State.FAILED:
        yield f"  {case['where']}"
        for name in ("got", "want", "from"):
            yield f"  {name + ':':5} {one_line(case[name], len(case[name]))}"
        for line in case.get("timeline", ()):
            yield f"    {line}"
    else:
        yield f"  {one_line(case['error'].strip().rpartition(chr(10))[2])}"


def _case_lines(page: Page) -> Iterator[str]:
    for case in page.data["cases"]:
        if case["state"] in (State.FAILED, State.ERRORED):
            yield from _failure(case)
        else:
            yield f"{case['id']} {case['level']} {case['state']}: {case['title']}"
        if "reason" in case:
            yield f"  {case['reason']}"
        yield from (f"  warning: {note}" for note in case.get("notes", ()))

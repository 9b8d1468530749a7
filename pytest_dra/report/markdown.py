"""A report in Markdown, as GitHub and others show it beside a pipeline's run.

What a driver has said stands in entities only: no character of it can be markup, a link, a mention
or a table's column.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dra.report.page import VERDICT_SIGNS
from pytest_dra.report.page import Page
from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import plain_data
from pytest_dra.report.plain import spelled_ids
from pytest_dra.report.results import State
from pytest_dra.spec import Depth
from pytest_dra.spec import Json
from pytest_dra.spec import Level

FAILURES_SHOWN = 50
"""Failed cases in the table; a summary has a limit of a mebibyte, and its readers have theirs."""

GROUPS_SHOWN = 20
NODES_SHOWN = 50
TEXT_LIMIT = 240
"""Characters of a text that a driver has made."""

HARMLESS = frozenset(" ")
"""Characters that stay besides letters and digits."""

IN_WAYS = frozenset(" -,;")
"""The same of how a node differs: words of ours, and names of cases, which anything may follow."""

WAYS_LIMIT = 1000
"""Characters of how a node differs."""


def render(data: Json) -> str:
    """The summary of a report that has the form of the schema; its texts may be hostile."""
    page = Page(plain_data(data))
    parts = (_head, _nodes, _failures, _unjudged, _behaviours, _foot)
    return "\n".join(line for part in parts for line in part(page)) + "\n"


def literal(text: str, limit: int = TEXT_LIMIT) -> str:
    """A text that no reader of Markdown takes for markup, as code."""
    return f"<code>{_entities(one_line(text, limit), HARMLESS)}</code>"


def _entities(text: str, kept: frozenset[str]) -> str:
    return "".join(each if each.isalnum() or each in kept else f"&#{ord(each)};" for each in text)


def _head(page: Page) -> Iterator[str]:
    data, of = page.data, page.data["verdictOf"]
    passed, applicable = page.musts
    yield f"## {VERDICT_SIGNS[data['verdict']]} DRA conformance: {data['verdict']}"
    yield ""
    yield (
        f"{literal(data['driver']['name'] or 'unnamed driver')}: **{passed} of {applicable}** "
        f"applicable MUST cases of {of['profile']} passed, at {of['depth']} depth on Kubernetes "
        f"{of['kubernetes']}."
    )
    yield ""
    if page.early:
        yield f"**{page.early}**"
        yield ""
    states = [state.value for state in State]
    yield f"| | {' | '.join(states)} |"
    yield f"|---|{'---:|' * len(states)}"
    for level in Level:
        numbers = data["counts"][level.value]
        yield f"| {level.value} | {' | '.join(str(numbers[each]) for each in states)} |"
    yield ""


def _nodes(page: Page) -> Iterator[str]:
    nodes = page.nodes
    if not nodes:
        return
    odd = [(each, how) for each, how in nodes if how or not each["reported"]]
    yield f"### Nodes ({len(nodes)}; different or without a report: {len(odd)})"
    yield ""
    if not odd:
        return
    yield "| node | verdict | how it differs |"
    yield "|---|---|---|"
    for each, how in odd[:NODES_SHOWN]:
        ways = _entities(one_line("; ".join(how), WAYS_LIMIT), IN_WAYS)
        told = ways if each["reported"] else literal(each["reason"])
        yield f"| {literal(each['name'])} | {each['verdict']} | {told} |"
    if len(odd) > NODES_SHOWN:
        yield ""
        yield f"{len(odd) - NODES_SHOWN} more nodes stand in the report."
    yield ""


def _failures(page: Page) -> Iterator[str]:
    bad = page.bad
    if not bad:
        return
    yield f"### Failures ({len(bad)})"
    yield ""
    yield "| case | level | what is demanded | where | got |"
    yield "|---|---|---|---|---|"
    for each in bad[:FAILURES_SHOWN]:
        if each["state"] == State.FAILED:
            where, got = literal(each["where"]), literal(each["got"])
        else:
            where, got = "errored, which is not the driver's fault", ""
        yield f"| {each['id']} | {each['level']} | {literal(each['title'])} | {where} | {got} |"
    if len(bad) > FAILURES_SHOWN:
        yield ""
        yield f"And {spelled_ids(each['id'] for each in bad[FAILURES_SHOWN:])}."
    yield ""


def _unjudged(page: Page) -> Iterator[str]:
    groups = page.groups
    if groups:
        yield "### Not judged"
        yield ""
        for each in groups[:GROUPS_SHOWN]:
            ids = spelled_ids(case["id"] for case in each.cases)
            way = f" Way out: {literal(each.remedy)}." if each.remedy else ""
            musts = f" ({each.musts} MUST)" if each.musts else ""
            yield f"- {each.state}, {literal(each.reason)}: {ids}{musts}.{way}"
        if len(groups) > GROUPS_SHOWN:
            yield f"- {len(groups) - GROUPS_SHOWN} more reasons stand in the report"
        yield ""
    if page.provisional:
        yield (
            "Provisional (feature seen, not declared; not counted): "
            + ", ".join(f"{each['id']} {each['state']}" for each in page.provisional)
        )
        yield ""


def _behaviours(page: Page) -> Iterator[str]:
    if page.data["verdictOf"]["depth"] != Depth.CLUSTER.value:
        return
    yield "### Behaviours of kubernetes/enhancements#5970"
    yield ""
    yield "| | behaviour | state | cases |"
    yield "|---|---|---|---|"
    for number, text, state, cases in page.behaviours:
        told = ", ".join(f"{id} {each}" for id, each in cases.items())
        yield f"| {number} | {text} | {state} | {told} |"
    yield ""


def _foot(page: Page) -> Iterator[str]:
    again = page.data["reproduce"]
    yield f"Reproduce: {literal(again['failed'] or again['all'], len(again['all']) * 2)}"
    yield ""
    yield f"<sub>{page.data['disclaimer']}</sub>"

"""Explanations for people and for machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.explaining.explanation import Explanation
from pytest_dra.explaining.explanation import Group
from pytest_dra.explaining.explanation import NodeReport
from pytest_dra.explaining.explanation import RequestReport
from pytest_dra.explaining.reasons import CAPACITY_EXHAUSTED
from pytest_dra.explaining.reasons import IN_USE
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.deciding import FITS

Json = dict[str, Any]

_NAMES_MAX: Final = 3
"""Holders, or nodes that are alike, that are named."""

_KINDS_MAX: Final = 10
"""Kinds of nodes from which on those are alike whose devices have different holders."""

_LINES_MAX: Final = 40
"""Kinds of nodes that are told."""

_WORDS: Final = {
    "fits": "fits",
    "nofit": "does not fit",
    "node": "does not fit",
    "fatal": "is given up",
    "budget": "no answer within the budget",
    "elsewhere": "not for this pod",
    "unavailable": "not for its claims",
}


def plain(explanation: Explanation) -> Json:
    """The explanation as JSON has it."""
    chosen = explanation.decision.chosen
    return {
        "subject": explanation.subject,
        "verdict": explanation.verdict,
        "why": explanation.decision.why,
        "node": chosen.node if chosen else None,
        "allocations": [*chosen.results] if chosen else [],
        "nodes": [_plain_node(one) for one in explanation.nodes],
        "binding": [*explanation.binding],
        "changes": [dataclasses.asdict(one) for one in explanation.changes],
        "notes": [*explanation.notes],
    }


def _plain_node(report: NodeReport) -> Json:
    return {
        "node": report.node,
        "verdict": report.verdict,
        "why": report.why,
        "pools": [*report.pools],
        "values": [*report.values],
        "requests": [_plain_request(one) for one in report.requests],
    }


def _plain_request(request: RequestReport) -> Json:
    excluded = [
        {
            "reason": group.reason,
            "text": group.text,
            "count": len(group.devices),
            "details": [{"text": text, "count": count} for text, count in group.details],
            "devices": ["/".join(device) for device in group.devices],
        }
        for group in request.groups
    ]
    return {
        "claim": request.claim,
        "request": request.request,
        "class": request.class_name,
        "wanted": request.wanted or "all",
        "devices": request.seen,
        "free": request.free,
        "excluded": excluded,
    }


def text(explanation: Explanation) -> str:
    """The explanation for a terminal."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    chosen = explanation.decision.chosen
    word = _WORDS[explanation.verdict]
    if chosen is not None:
        yield f"{explanation.subject}: {word} on node {chosen.node or '<any>'}"
        for claim, allocation in zip(chosen.claims, chosen.results, strict=True):
            for result in results_of(allocation):
                device = "/".join(device_of(result))
                yield f"  claim {claim['metadata']['name']}, request {result['request']}: {device}"
    else:
        yield f"{explanation.subject}: {word}: {explanation.decision.why}"
    yield from _nodes(explanation)
    if explanation.binding:
        yield "What cannot be met together:"
        yield from (f"  - {one}" for one in explanation.binding)
    if explanation.changes:
        yield "It would fit if"
        yield from (f"  - {one.text} (node {one.node or '<any>'})" for one in explanation.changes)
    elif chosen is None and explanation.nodes:
        yield "No single change, and no pair of changes that were tried, makes it fit."
    yield from (f"Note: {one}" for one in explanation.notes)


def _nodes(explanation: Explanation) -> Iterator[str]:
    """Nodes, those together of which the same is to be said."""
    told = [
        one
        for one in explanation.nodes
        if one.verdict != FITS or explanation.decision.chosen is None
    ]
    alike = _alike(told, names=True)
    if len(alike) > _KINDS_MAX:
        alike = _alike(told, names=False)
    for lines, names in list(alike.values())[:_LINES_MAX]:
        shown = ", ".join(names[:_NAMES_MAX])
        more = f" and {len(names) - _NAMES_MAX} nodes more" if len(names) > _NAMES_MAX else ""
        if len(lines) == 1:
            yield f"{shown}{more}: {lines[0]}"
        else:
            yield f"{shown}{more}:"
            yield from (f"  {line}" for line in lines)
    if len(alike) > _LINES_MAX:
        yield f"and {len(alike) - _LINES_MAX} kinds of nodes more (-o json has all)"


def _alike(
    reports: Sequence[NodeReport], *, names: bool
) -> dict[tuple[str, ...], tuple[list[str], list[str]]]:
    """Lines of the first of the nodes that are alike, with the nodes' names.

    Without ``names`` it makes no difference who holds the devices.
    """
    found: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    for one in reports:
        key = tuple(node_lines(one, names=names))
        entry = found.setdefault(key, (list(node_lines(one)), []))
        entry[1].append(one.node or "<any>")
    return found


def node_lines(report: NodeReport, *, names: bool = True) -> Iterator[str]:
    """What is to be said of one node, without its name; ``names`` are those of holders."""
    if report.why:
        yield f"{_WORDS[report.verdict]}: {report.why}"
    yield from report.pools
    several = len(report.requests) > 1
    for request in report.requests:
        name = f"{request.claim} {request.request}: " if several else ""
        yield f"{name}{request_line(request, names=names)}"
    yield from report.values
    if not report.why and not report.requests:
        yield _WORDS[report.verdict]


def request_line(request: RequestReport, *, names: bool = True) -> str:
    """The devices of a node as one request sees them."""
    parts = [_group(one, names=names) for one in request.groups]
    if request.free or not parts:
        wanted = f"wants {request.wanted}" if request.wanted else "wants all"
        parts.append(f"{request.free} free ({wanted})")
    elif request.wanted > 1:
        parts.append(f"none left (wants {request.wanted})")
    devices = f"{request.seen} device{'' if request.seen == 1 else 's'}"
    return f"{devices}: {', '.join(parts)}"


def _group(group: Group, *, names: bool) -> str:
    count = len(group.devices)
    text = group.text
    first, _, rest = text.partition(" ")
    if count == 1 and first in _SINGULAR:
        text = f"{_SINGULAR[first]} {rest}"
    if group.reason in (IN_USE, CAPACITY_EXHAUSTED) and group.details:
        holders = [name for name, _ in group.details] if names else []
        shown = ", ".join(holders[:_NAMES_MAX])
        return f"{count} {text} by {shown}{', ..' if len(holders) > _NAMES_MAX else ''}"
    if not group.details:
        return f"{count} {text}"
    detail, number = group.details[0]
    others = "" if number == count and len(group.details) == 1 else ", .."
    return f"{count} {text} ({detail}{others})"


_SINGULAR: Final = {
    "fail": "fails", "have": "has", "need": "needs", "make": "makes", "consume": "consumes",
    "skip": "skips",
}  # fmt: skip

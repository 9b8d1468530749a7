"""What came of each node of a cluster that was judged node by node, and which of them differ."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.api import names
from pytest_dra.report.plain import one_line
from pytest_dra.report.plain import shown
from pytest_dra.report.plain import spelled_ids
from pytest_dra.spec import Json

BEST_FIRST: Final = (
    "passed",
    "not-applicable",
    "waived",
    "unsupported-environment",
    "not-run",
    "errored",
    "failed",
)
"""Where two states are those of equally many nodes, the one that comes first here is the norm."""

UNREPORTED: Final = "no report came of it"

NAME_SHOWN: Final = 80
"""Characters of what is no node's name."""

NAMES_SHOWN: Final = 5
"""Nodes in a sentence; the report has all of them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """What came of one node: its report's verdict, "" where it has none, and its cases' states."""

    name: str
    verdict: str = ""
    reason: str = UNREPORTED
    states: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A case that ended on a node otherwise than on most; ``usual`` is its state there."""

    case: str
    state: str
    usual: str


def no_name(text: str) -> str:
    """What makes a text no name of a node, behind its begin; "" for such a name."""
    wrong = names.node_name_error(text)
    return f"{shown(text[:NAME_SHOWN])}: {wrong}" if wrong else ""


def spread(nodes: Iterable[NodeResult]) -> dict[str, dict[str, list[str]]]:
    """By case, for those that did not end alike everywhere: the nodes by the case's state there."""
    found: dict[str, dict[str, list[str]]] = {}
    for node in nodes:
        for case, state in node.states.items():
            found.setdefault(case, {}).setdefault(state, []).append(node.name)
    return {case: states for case, states in sorted(found.items()) if len(states) > 1}


def usual(states: Mapping[str, Sequence[str]]) -> str:
    """The state that most nodes have; of two the better one."""
    numbers = Counter({state: len(having) for state, having in states.items()})
    return max(numbers, key=lambda state: (numbers[state], -BEST_FIRST.index(state)))


def differences(spreads: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, list[Difference]]:
    """By node, for those that differ: in what.

    Args:
        spreads: as :func:`spread` has them.
    """
    found: dict[str, list[Difference]] = {}
    for case, states in spreads.items():
        norm = usual(states)
        for state, having in states.items():
            for name in having if state != norm else ():
                found.setdefault(name, []).append(Difference(case=case, state=state, usual=norm))
    return {name: found[name] for name in sorted(found)}


def as_data(nodes: Sequence[NodeResult]) -> list[Json]:
    """The list of the report."""
    known = differences(spread(nodes))
    return [
        {
            "name": node.name,
            "reported": bool(node.verdict),
            "verdict": node.verdict or "inconclusive",
            "reason": node.reason,
            "differs": [dataclasses.asdict(each) for each in known.get(node.name, ())],
        }
        for node in nodes
    ]


def lines(data: Json) -> list[str]:
    """What a report says of nodes: which differ or have no report, and a line for each of them."""
    nodes = data.get("nodes") or []
    if not nodes:
        return []
    differing = [each for each in nodes if each["differs"]]
    silent = [each for each in nodes if not each["reported"]]
    said = f"nodes: {len(nodes)}, differing: {named(each['name'] for each in differing) or 'none'}"
    if silent:
        said += f", without a report: {named(each['name'] for each in silent)}"
    return [said, *(f"  {one_line(each['name'])}: {_told(each)}" for each in differing)]


def named(nodes: Iterable[str]) -> str:
    """Names of nodes in a sentence."""
    every = [one_line(each) for each in nodes]
    more = len(every) - NAMES_SHOWN
    return ", ".join(every[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _told(node: Json) -> str:
    return f"{node['verdict']}; {'; '.join(ways(node))}"


def ways(node: Json) -> list[str]:
    """In what a node of a report differs, worst first, in words."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in node["differs"]:
        groups.setdefault((each["state"], each["usual"]), []).append(each["case"])
    order = sorted(groups, key=lambda each: -BEST_FIRST.index(each[0]))
    return [
        f"{spelled_ids(groups[state, norm])} {state} there, {norm} elsewhere"
        for state, norm in order
    ]

"""The nearest changes with which a claim would fit: each one was tried."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Final

from pytest_dra.explaining import edits as editing
from pytest_dra.explaining.trials import TRIAL_BUDGET
from pytest_dra.explaining.trials import Edit
from pytest_dra.explaining.trials import Exhausted
from pytest_dra.explaining.trials import Trials
from pytest_dra.scheduling.deciding import ELSEWHERE
from pytest_dra.scheduling.deciding import FITS
from pytest_dra.scheduling.deciding import NodeAnswer

CHANGES_MAX: Final = 8
"""Changes that are told."""

SAME_KIND_MAX: Final = 3
"""Changes of one kind that are told: holders may be many."""

PAIRS_MAX: Final = 200
"""Pairs of changes that are tried if no single one is enough."""

_NODE_KIND: Final = "node-allowed"
_NODES_MAX: Final = 50
"""Nodes that the pod cannot go to on which the claims are tried."""

_HOLDER_NODES_MAX: Final = 20
"""Nodes on which several holders at once are tried."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What would have to be different for a subject to fit, and where it would fit then."""

    kind: str
    text: str
    node: str


def nearest(trials: Trials) -> tuple[Change, ...]:
    """The changes that help, nearest first; pairs of them if no single one does."""
    found: list[Change] = []
    with contextlib.suppress(Exhausted):
        found += _nodes(trials)
    if not trials.answers:
        return tuple(found)
    singles = sorted(editing.edits(trials), key=lambda one: one.cost)
    ways = (
        functools.partial(_singles, trials, singles),
        functools.partial(_several_holders, trials),
        functools.partial(_pairs, trials, singles),
    )
    with contextlib.suppress(Exhausted):
        for way in ways:
            if found:
                break
            for one in way():
                # One by one: what was found stays if the rest is too much.
                found.append(one)
    return tuple(found[:CHANGES_MAX])


def _singles(trials: Trials, singles: list[Edit]) -> Iterator[Change]:
    told: dict[str, int] = {}
    done: set[str] = set()
    for one in singles:
        # Of a request for fewer devices the largest number that fits is told.
        if one.requirement in done or told.get(one.kind, 0) >= SAME_KIND_MAX:
            continue
        if one.kind == editing.CLASS and told:
            return
        node = trials.fits([one])
        if node is not None:
            told[one.kind] = told.get(one.kind, 0) + 1
            if one.kind == editing.COUNT:
                done.add(one.requirement)
            yield Change(kind=one.kind, text=one.text, node=node)


def _nodes(trials: Trials) -> Iterator[Change]:
    """Nodes with devices to which the pod cannot go for another reason."""
    scheduler, decision = trials.scheduler, trials.decision
    barred: list[NodeAnswer] = [one for one in decision.answers if one.verdict == ELSEWHERE]
    attempt = None
    for one in barred[:_NODES_MAX]:
        attempt = attempt or scheduler.attempt(decision.subject.todo, budget=TRIAL_BUDGET)
        if trials.on(attempt, scheduler.cluster.nodes[one.node]).verdict == FITS:
            yield Change(kind=_NODE_KIND, text=f"the pod could go there ({one.why})", node=one.node)
            return


def _several_holders(trials: Trials) -> Iterator[Change]:
    """The fewest holders of one node that would have to end."""
    holders = list(editing.holders(trials))
    best: tuple[list[Edit], str] | None = None
    for answer in trials.answers[:_HOLDER_NODES_MAX]:
        there = [one for one in holders if answer.node in one.nodes]
        if not there or trials.fits(there, names=[answer.node]) is None:
            continue
        kept = list(there)
        for one in there:
            fewer = [other for other in kept if other is not one]
            if fewer and trials.fits(fewer, names=[answer.node]) is not None:
                kept = fewer
        if best is None or len(kept) < len(best[0]):
            best = kept, answer.node
    if best is not None:
        text = " and ".join(one.text for one in best[0])
        yield Change(kind=editing.HOLDER, text=text, node=best[1])


def _pairs(trials: Trials, singles: list[Edit]) -> Iterator[Change]:
    ranked = sorted(
        itertools.combinations(singles, 2), key=lambda pair: pair[0].cost + pair[1].cost
    )
    told = 0
    for one, other in ranked[:PAIRS_MAX]:
        if one.requirement == other.requirement:
            continue
        names = one.nodes & other.nodes if one.nodes and other.nodes else one.nodes | other.nodes
        node = trials.fits([one, other], names=names)
        if node is not None:
            yield Change(
                kind=f"{one.kind}+{other.kind}", text=f"{one.text} and {other.text}", node=node
            )
            told += 1
            if told >= SAME_KIND_MAX:
                return

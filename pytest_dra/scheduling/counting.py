"""How many more of a claim, or of a pod with its claims, fit."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.deciding import Decision
from pytest_dra.scheduling.deciding import Scheduler
from pytest_dra.scheduling.subjects import Subject

Json = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """``nodes``: how many fit on each node if all go there. ``total``: how many fit in all, fewer
    than their sum where nodes share devices; ``limited`` if there may be more. ``why``: what is in
    the way of one more.
    """

    nodes: dict[str, int]
    total: int
    limited: bool
    why: str


def count(
    scheduler: Scheduler, subject: Subject, *, names: list[str] | None, limit: int
) -> Counted:
    """Place copies one after the other, as the scheduler would, until no more fits."""
    nodes = names if names is not None else list(scheduler.cluster.nodes)
    placed, why = _placed(scheduler, subject, nodes, limit)
    per_node = dict.fromkeys(nodes, 0)
    for decision in placed:
        if decision.chosen is not None:
            per_node[decision.chosen.node] += 1
    _take_back(scheduler, placed)
    if _shares(scheduler):
        for name in nodes:
            alone, _ = _placed(scheduler, subject, [name], limit)
            per_node[name] = len(alone)
            _take_back(scheduler, alone)
    total = len(placed)
    return Counted(nodes=per_node, total=total, limited=total >= limit, why=why)


def _placed(
    scheduler: Scheduler, subject: Subject, nodes: list[str], limit: int
) -> tuple[list[Decision], str]:
    placed: list[Decision] = []
    remaining, why = list(nodes), ""
    while remaining and len(placed) < limit:
        decision = scheduler.decide(_copied(subject, len(placed)), names=remaining)
        why = decision.why
        if decision.chosen is None:
            break
        scheduler.accept(decision)
        placed.append(decision)
        if decision.answers[-1] is decision.chosen:
            # The nodes before it were tried in vain, and are not going to have more.
            remaining = remaining[remaining.index(decision.chosen.node) :]
    return placed, why


def _take_back(scheduler: Scheduler, placed: list[Decision]) -> None:
    for decision in reversed(placed):
        scheduler.retract(decision)


def _shares(scheduler: Scheduler) -> bool:
    """True if devices can be used from several nodes."""
    return any(not one.node_name for found in scheduler.index.by_pool.values() for one in found)


def _copied(subject: Subject, number: int) -> Subject:
    """One more of the same, all of it new."""
    claims = []
    for one in subject.claims:
        made = copy.deepcopy({key: value for key, value in one.items() if key != "status"})
        made["metadata"] = {**made["metadata"], "name": f"{key_of(one)[1]}-copy-{number}"}
        made["metadata"].pop("uid", None)
        claims.append(made)
    pod: Json | None = None
    if subject.pod is not None:
        pod = copy.deepcopy(subject.pod)
        pod["metadata"] = {**pod["metadata"], "name": f"{subject.key[1]}-copy-{number}"}
        pod["metadata"].pop("uid", None)
        pod.get("spec", {}).pop("nodeName", None)
    return Subject(
        kind=subject.kind,
        key=(subject.key[0], f"{subject.key[1]}-copy-{number}"),
        claims=tuple(claims),
        pod=pod,
        extended=subject.extended,
        fault=subject.fault,
    )

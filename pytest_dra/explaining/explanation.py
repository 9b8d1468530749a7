"""The explanation of a decision: nodes, requests, what binds, what would help."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from pytest_dra.allocator import Attempt
from pytest_dra.allocator.requests import Option
from pytest_dra.explaining import known
from pytest_dra.explaining.binding import binding
from pytest_dra.explaining.changes import Change
from pytest_dra.explaining.changes import nearest
from pytest_dra.explaining.countertables import counter_lines
from pytest_dra.explaining.edits import HOLDER
from pytest_dra.explaining.edits import IN_USE_BINDS
from pytest_dra.explaining.reasons import CAPACITY_EXHAUSTED
from pytest_dra.explaining.reasons import FREE
from pytest_dra.explaining.reasons import IN_USE
from pytest_dra.explaining.reasons import Reason
from pytest_dra.explaining.reasons import Reasons
from pytest_dra.explaining.reasons import Seen
from pytest_dra.explaining.trials import Trials
from pytest_dra.explaining.valuetables import ValueTables
from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import Subject
from pytest_dra.scheduling.cluster import DeviceKey
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.deciding import ELSEWHERE
from pytest_dra.scheduling.deciding import FITS
from pytest_dra.scheduling.deciding import UNAVAILABLE
from pytest_dra.scheduling.deciding import NodeAnswer

Json = dict[str, Any]

NODES_MAX = 1000
"""Nodes whose devices are looked at one by one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Devices that are excluded for the same reason; ``details`` are its particulars, counted."""

    reason: str
    text: str
    details: tuple[tuple[str, int], ...]
    devices: tuple[DeviceKey, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RequestReport:
    """One request, or one alternative, on one node. ``wanted`` is 0 for all devices."""

    claim: str
    request: str
    class_name: str
    wanted: int
    seen: int
    free: int
    groups: tuple[Group, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """One node: the verdict, and the requests if devices were looked at."""

    node: str
    verdict: str
    why: str
    pools: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    requests: tuple[RequestReport, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Explanation:
    """All there is to say about one subject."""

    subject: str
    decision: Decision
    nodes: tuple[NodeReport, ...]
    binding: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The verdict for the subject."""
        return self.decision.verdict


def explain(scheduler: Scheduler, subject: Subject) -> Explanation:
    """Explain what becomes of a subject now. What is in use stays as it was."""
    decision = scheduler.decide(subject, every=True)
    reporter = _Reporter(scheduler)
    reports = tuple(reporter.report(answer, subject) for answer in decision.answers[:NODES_MAX])
    if decision.chosen is not None or subject.fault:
        notes = known.notes(scheduler, decision, reports)
        return Explanation(
            subject=subject.name, decision=decision, nodes=reports, notes=notes
        )  # fmt: skip
    trials = Trials(scheduler, decision)
    binds = binding(trials)
    changes = nearest(trials)
    matters = not binds or IN_USE_BINDS in binds or any(one.kind == HOLDER for one in changes)
    notes = preemption(reports) if matters else ()
    return Explanation(
        subject=subject.name,
        decision=decision,
        nodes=reports,
        binding=binds,
        changes=changes,
        notes=(*notes, *known.notes(scheduler, decision, reports)),
    )


def reasons_of(scheduler: Scheduler, decision: Decision) -> frozenset[str]:
    """The words for all reasons that keep requests off devices, ``free`` where none does."""
    reporter = _Reporter(scheduler)
    found: set[str] = set()
    for answer in decision.answers[:NODES_MAX]:
        report = reporter.report(answer, decision.subject)
        found.update(report.pools)
        for request in report.requests:
            found.update(group.reason for group in request.groups)
            if request.free:
                found.add(FREE)
    return frozenset(found)


def preemption(reports: tuple[NodeReport, ...]) -> tuple[str, ...]:
    """What has to be said if devices are in use."""
    busy = any(
        group.reason in (IN_USE, CAPACITY_EXHAUSTED)
        for report in reports
        for request in report.requests
        for group in request.groups
    )
    if not busy:
        return ()
    return (
        "Kubernetes does not preempt pods for devices: whatever its priority, a pod stays pending "
        "until a holder of devices ends.",
    )


class _Reporter:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._newest = known.changing(scheduler.index)
        self._attempts: dict[tuple[int, ...], Attempt] = {}

    def report(self, answer: NodeAnswer, subject: Subject) -> NodeReport:
        """What happened on one node."""
        if answer.verdict in (ELSEWHERE, UNAVAILABLE):
            return NodeReport(node=answer.node, verdict=answer.verdict, why=answer.why)
        attempt = self._attempt(answer)
        node = self._scheduler.cluster.node(answer.node)
        view = attempt.index.view(node)
        pools = tuple(f"pool {'/'.join(one.key)} is {one.fault}" for one in view.pools if one.fault)
        pools += tuple(known.hidden(attempt.index, self._newest, view, node))
        requests = []
        tables = ValueTables(view)
        candidates: set[int] = set()
        if not view.fault and answer.verdict != FITS:
            reasons = Reasons(attempt, node, self._scheduler.cluster.holders)
            for unit in attempt.plan.units:
                claim = "/".join(key_of(dict(attempt.plan.claims[unit.claim])))
                for option in unit.options:
                    seen = reasons.of(unit.claim, option)
                    requests.append(self._request(claim, option, seen))
                    free = [one.place for one in seen if one.reason.kind == FREE]
                    tables.add(unit.claim, option, free)
                    candidates.update(free)
        return NodeReport(
            node=answer.node, verdict=answer.verdict, why=answer.why, pools=pools,
            values=(*tables.lines(), *counter_lines(attempt, view, candidates)),
            requests=tuple(requests),
        )  # fmt: skip

    def _attempt(self, answer: NodeAnswer) -> Attempt:
        key = tuple(id(one) for one in answer.claims)
        if key not in self._attempts:
            self._attempts[key] = self._scheduler.attempt(answer.claims)
        return self._attempts[key]

    def _request(self, claim: str, option: Option, seen: list[Seen]) -> RequestReport:
        found: dict[tuple[str, str], list[tuple[DeviceKey, Reason]]] = {}
        for one in seen:
            if one.reason.kind != FREE:
                entry = found.setdefault((one.reason.kind, one.reason.text), [])
                entry.append((one.device, self._named(one.reason)))
        groups = [
            Group(
                reason=kind,
                text=text,
                details=tuple(Counter(one.detail for _, one in listed if one.detail).most_common()),
                devices=tuple(key for key, _ in listed),
            )
            for (kind, text), listed in found.items()
        ]
        return RequestReport(
            claim=claim,
            request=option.full_name,
            class_name=str((option.class_.get("metadata") or {}).get("name") or ""),
            wanted=0 if option.every else option.count,
            seen=len(seen),
            free=sum(one.reason.kind == FREE for one in seen),
            groups=tuple(groups),
        )

    def _named(self, reason: Reason) -> Reason:
        """Holders by the pods that use the claim, where these are known."""
        if reason.kind not in (IN_USE, CAPACITY_EXHAUSTED) or "/" not in reason.detail:
            return reason
        names = []
        for text in reason.detail.split(", "):
            namespace, _, name = text.partition("/")
            users = self._scheduler.cluster.users((namespace, name))
            names += [f"{namespace}/{user}" for user in users] or [f"claim {text}"]
        return dataclasses.replace(reason, detail=", ".join(names))

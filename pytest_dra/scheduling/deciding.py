"""Which node a pod or a claim goes to, and with which devices."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import BUDGET
from pytest_dra.allocator import Attempt
from pytest_dra.allocator import Index
from pytest_dra.allocator import Rules
from pytest_dra.allocator import State
from pytest_dra.allocator import nodes
from pytest_dra.allocator import with_rules
from pytest_dra.api.times import now
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling import extended
from pytest_dra.scheduling.allocated import is_given_back
from pytest_dra.scheduling.allocated import troubles
from pytest_dra.scheduling.cluster import ENDED
from pytest_dra.scheduling.cluster import Cluster
from pytest_dra.scheduling.cluster import Key
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.cluster import requests_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.nodeallocatable import Devices
from pytest_dra.scheduling.nodeallocatable import MappingError
from pytest_dra.scheduling.nodeallocatable import footprint
from pytest_dra.scheduling.nodeallocatable import is_mapped
from pytest_dra.scheduling.nodefit import why_not
from pytest_dra.scheduling.podresources import STATUSES
from pytest_dra.scheduling.preconditions import why_nowhere
from pytest_dra.scheduling.subjects import Subject

Json = dict[str, Any]

FITS: Final = "fits"
NOFIT: Final = "nofit"
FATAL: Final = "fatal"
BUDGET_OUT: Final = "budget"
ELSEWHERE: Final = "elsewhere"
"""The pod cannot go to the node for another reason than its devices."""
UNAVAILABLE: Final = "unavailable"
"""A claim has been allocated, and its allocation cannot be used from the node."""

FIRST_POINTS: Final = 8
"""Points of a request's first alternative; each later one has one less."""

_SCORES_SINCE: Final = 35


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeAnswer:
    """What was found for one node: a verdict, why, and an allocation per claim if it fits.

    ``taken`` is what devices take of the node's own resources, for the status of the pod.
    """

    node: str
    verdict: str
    why: str = ""
    results: tuple[Json, ...] = ()
    claims: tuple[Json, ...] = ()
    steps: int = 0
    taken: tuple[Json, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decision:
    """What was found for a subject. ``chosen`` is None if it is not placed.

    ``lost`` are claims whose allocation is in the way. A scheduler takes it away from one of them
    if nobody else uses it and nothing else is wrong, and tries again.
    """

    subject: Subject
    answers: tuple[NodeAnswer, ...]
    chosen: NodeAnswer | None = None
    why: str = ""
    lost: tuple[Json, ...] = ()

    @property
    def given_back(self) -> Json | None:
        """The claim that a scheduler takes the allocation away from, None if it takes none."""
        if self.verdict != NOFIT or self.subject.pod is None:
            return None
        pod = self.subject.pod
        return next((one for one in self.lost if is_given_back(one, pod)), None)

    @property
    def verdict(self) -> str:
        """The verdict for the subject as a whole."""
        if self.chosen is not None:
            return FITS
        for verdict in (FATAL, BUDGET_OUT):
            if any(one.verdict == verdict for one in self.answers):
                return verdict
        return NOFIT


class Scheduler:
    """Decides for one subject after the other. What was accepted is in use for the next ones."""

    def __init__(
        self,
        cluster: Cluster,
        rules: Rules,
        *,
        budget: int = BUDGET,
        index: Index | None = None,
        clock: Callable[[], datetime.datetime] = now,
    ) -> None:
        self.cluster = cluster
        self.rules = rules
        self.budget = budget
        self.clock = clock
        self.index = index_of(cluster, rules) if index is None else index
        self.state: State = cluster.state(rules)
        self.devices = Devices(cluster.slices if rules.node_allocatable else ())
        self._guests: dict[str, list[Json]] | None = None

    def attempt(
        self, claims: Sequence[Json], *, classes: Mapping[str, Json] | None = None,
        budget: int | None = None,
    ) -> Attempt:  # fmt: skip
        """Claims to be tried on nodes, here or in changed circumstances."""
        return Attempt(
            self.index,
            self.state,
            self.cluster.classes if classes is None else classes,
            claims,
            budget=self.budget if budget is None else budget,
        )

    def decide(
        self, subject: Subject, *, names: Iterable[str] | None = None, every: bool = False
    ) -> Decision:
        """Find a node for a subject.

        Args:
            subject: what is to be placed.
            names: nodes to try, in order; all of the cluster if there are none.
            every: try all nodes, even those behind the one that is chosen.
        """
        fault = subject.fault or why_nowhere(subject.claims, self.cluster.classes, self.rules)
        if fault:
            return Decision(subject=subject, answers=(), why=fault)
        tried = _Tries(self, subject)
        scores = self.rules.minor >= _SCORES_SINCE and chooses(subject.todo)
        answers: list[NodeAnswer] = []
        best: NodeAnswer | None = None
        aborted = False
        for node in self._nodes(subject, names):
            answer = tried.on(node)
            answers.append(answer)
            if answer.verdict == FITS and not aborted:
                if best is None or (scores and score(answer) > score(best)):
                    best = answer
                if not scores and not every:
                    break
            elif answer.verdict in (FATAL, BUDGET_OUT) and best is None:
                # The scheduler gives up on the pod for now.
                aborted = True
                if not every:
                    break
        lost = () if best is not None else tuple(tried.lost.values())
        return Decision(
            subject=subject, answers=tuple(answers), chosen=best, why=_why(answers), lost=lost
        )  # fmt: skip

    def _nodes(self, subject: Subject, names: Iterable[str] | None) -> list[Json]:
        if subject.node and names is None:
            names = [subject.node]
        if names is None:
            return list(self.cluster.nodes.values())
        return [self.cluster.node(name) for name in names]

    def guests(self, node: str) -> list[Json]:
        """Pods on a node, those that were placed here among them."""
        if self._guests is None:
            self._guests = {}
            for pod in self.cluster.pods.values():
                place = (pod.get("spec") or {}).get("nodeName")
                if place and (pod.get("status") or {}).get("phase") not in ENDED:
                    self._guests.setdefault(place, []).append(pod)
        return self._guests.setdefault(node, [])

    def accept(self, decision: Decision) -> None:
        """Take what was chosen into account from now on."""
        chosen = decision.chosen
        if chosen is None:
            return
        for claim, allocation in zip(chosen.claims, chosen.results, strict=True):
            self.state.add(allocation)
            claim.setdefault("status", {})["allocation"] = allocation
            self.cluster.claims.setdefault(key_of(claim), claim)
            self.cluster.hold(key_of(claim), allocation)
        pod = decision.subject.pod
        if pod is None:
            return
        subject = decision.subject
        for claim in {id(one): one for one in (*subject.claims, *chosen.claims)}.values():
            if not consumers.is_reserved(claim, pod, groups=self.rules.group_claims):
                consumer = subject.consumers.get(key_of(claim)) or consumers.of(pod)
                status = claim.setdefault("status", {})
                status["reservedFor"] = [*(status.get("reservedFor") or ()), consumer]
        if not subject.node:
            self.guests(chosen.node).append(placed(pod, chosen))

    def retract(self, decision: Decision) -> None:
        """Undo :meth:`accept`, the last one first."""
        chosen = decision.chosen
        if chosen is None:
            return
        for claim, allocation in zip(chosen.claims, chosen.results, strict=True):
            self.state.remove(allocation)
            self.cluster.release(key_of(claim), allocation)
            claim.pop("status", None)
            if self.cluster.claims.get(key_of(claim)) is claim:
                del self.cluster.claims[key_of(claim)]
        if decision.subject.pod is not None and not decision.subject.node:
            self.guests(chosen.node).pop()


def placed(pod: Json, chosen: NodeAnswer) -> Json:
    """A pod as it is on its node, with what its devices take of that."""
    if not chosen.taken:
        return pod
    return {**pod, "status": {**(pod.get("status") or {}), STATUSES: list(chosen.taken)}}


def index_of(cluster: Cluster, rules: Rules) -> Index:
    """The index of a cluster's slices, with the taints of rules."""
    slices: Sequence[Mapping[str, Any]] = cluster.slices
    if rules.taints and cluster.taint_rules:
        slices = with_rules(slices, cluster.taint_rules)
    return Index(slices, rules)


class _Tries:
    """One subject on one node after the other."""

    def __init__(self, scheduler: Scheduler, subject: Subject) -> None:
        self._scheduler = scheduler
        self._subject = subject
        self._moment = scheduler.clock()
        self.lost: dict[Key, Json] = {}
        self._attempts: dict[tuple[str, ...], Attempt] = {}
        self._claims: dict[tuple[str, ...], tuple[Json, ...]] = {}

    def on(self, node: Json) -> NodeAnswer:
        subject, name = self._subject, nodes.name_of(node)
        resources = self._backed(node)
        if subject.pod is not None and not subject.node:
            why = why_not(
                subject.pod, node, self._scheduler.guests(name), resources,
                with_devices=self._scheduler.rules.node_allocatable,
            )  # fmt: skip
            if why:
                return NodeAnswer(node=name, verdict=ELSEWHERE, why=why)
        missing = list(troubles(node, subject.claims, self._scheduler.rules, self._moment))
        if missing:
            self.lost.update({key_of(claim): claim for claim, _ in missing})
            why = "; ".join(text for _, text in missing)
            return NodeAnswer(node=name, verdict=UNAVAILABLE, why=why)
        taken = self._shared_in_vain()
        if taken:
            return NodeAnswer(node=name, verdict=UNAVAILABLE, why=taken)
        attempt, claims = self._attempt(resources)
        found = attempt.on(node)
        answer = NodeAnswer(
            node=name, verdict=found.verdict, why=found.error, results=found.results,
            claims=claims, steps=found.steps,
        )  # fmt: skip
        if found.verdict != FITS or subject.pod is None or not self._scheduler.devices.any:
            return answer
        return self._weighed(answer, subject.pod, node)

    def _shared_in_vain(self) -> str:
        """Why a claim cannot be shared: its devices stand for resources of its node."""
        pod, devices = self._subject.pod, self._scheduler.devices
        if pod is None or not devices.any:
            return ""
        for claim in self._subject.claims:
            allocation = allocation_of(claim)
            reserved = (claim.get("status") or {}).get("reservedFor")
            if allocation is None or not reserved or not is_mapped(allocation, devices):
                continue
            if not consumers.is_reserved(claim, pod, groups=self._scheduler.rules.group_claims):
                name = key_of(claim)[1]
                return f"claim {name} has devices of its node's own resources: one pod can use it"
        return ""

    def _weighed(self, answer: NodeAnswer, pod: Json, node: Json) -> NodeAnswer:
        """What devices take of the node itself has to be there, too."""
        allocated = [*zip(answer.claims, answer.results, strict=True)]
        for claim in self._subject.claims:
            allocation = allocation_of(claim)
            if allocation is not None:
                allocated.append((claim, allocation))
        entries = {name: key_of(one)[1] for name, one in self._subject.entries.items()}
        others = self._scheduler.guests(answer.node)
        if self._subject.node:
            others = [one for one in others if key_of(one) != self._subject.key]
        try:
            found = footprint(pod, node, others, allocated, self._scheduler.devices, entries)
        except MappingError as error:
            return dataclasses.replace(answer, verdict=FATAL, why=str(error), results=())
        if found.why:
            return dataclasses.replace(answer, verdict=ELSEWHERE, why=found.why, results=())
        return dataclasses.replace(answer, taken=found.statuses)

    def _backed(self, node: Json) -> tuple[str, ...]:
        if not self._scheduler.rules.extended_resources:
            return ()
        return extended.backed(self._subject.extended, node)

    def _attempt(self, resources: tuple[str, ...]) -> tuple[Attempt, tuple[Json, ...]]:
        if resources not in self._attempts:
            claims, pod = self._subject.todo, self._subject.pod
            if resources and pod is not None:
                classes = self._scheduler.cluster.resources
                claims = [*claims, extended.claim_for(pod, resources, classes)]
            self._claims[resources] = tuple(claims)
            self._attempts[resources] = self._scheduler.attempt(claims)
        return self._attempts[resources], self._claims[resources]


def chooses(claims: Iterable[Json]) -> bool:
    """True if any request has alternatives."""
    return any(request.get("firstAvailable") for claim in claims for request in requests_of(claim))


def score(answer: NodeAnswer) -> int:
    """How much a node is liked: the earlier the alternatives that it could give, the more."""
    total = 0
    for claim, result in zip(answer.claims, answer.results, strict=True):
        taken = {one["request"] for one in results_of(result)}
        for request in requests_of(claim):
            for place, one in enumerate(request.get("firstAvailable") or ()):
                if f"{request.get('name')}/{one.get('name')}" in taken:
                    total += FIRST_POINTS - place
    return total


def _why(answers: Sequence[NodeAnswer]) -> str:
    """A line about all nodes, as the scheduler's own event has it."""
    counts: dict[str, int] = {}
    for one in answers:
        text = one.why or "cannot allocate all claims"
        if one.verdict == FATAL:
            return text
        if one.verdict != FITS:
            counts[text] = counts.get(text, 0) + 1
    told = [f"{count} {text}" for text, count in sorted(counts.items(), key=lambda one: -one[1])]
    return f"0/{len(answers)} nodes are available: {', '.join(told)}" if told else "no nodes"

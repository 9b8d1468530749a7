"""Changed circumstances, really tried: what a claim asks for, who holds devices, classes."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import BUDGET
from pytest_dra.allocator import Answer
from pytest_dra.allocator import Attempt
from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.cluster import Key
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import requests_of
from pytest_dra.scheduling.deciding import BUDGET_OUT
from pytest_dra.scheduling.deciding import ELSEWHERE
from pytest_dra.scheduling.deciding import FITS
from pytest_dra.scheduling.deciding import UNAVAILABLE
from pytest_dra.scheduling.deciding import NodeAnswer

Json = dict[str, Any]
ClaimEdit = Callable[[list[Json]], None]

NODES_MAX: Final = 500
"""Nodes on which a change is tried."""

TRIAL_BUDGET: Final = BUDGET // 50
"""Steps of a search in changed circumstances: there are many of them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Edit:
    """One way in which things could be different.

    ``text`` goes behind "if"; ``requirement`` names what would be given up. ``claims`` edits
    copies of the claims, ``released`` are claims that give their devices back, ``dropped`` is a
    selector of a class, ``nodes`` where it can make a difference (all if there are none).
    """

    kind: str
    text: str
    requirement: str
    cost: int
    claims: ClaimEdit | None = None
    released: frozenset[Key] = frozenset()
    dropped: tuple[str, int] | None = None
    nodes: frozenset[str] = frozenset()


WORK_MAX: Final = 100_000
"""Nodes and steps of searches that all trials of one explanation may take together."""


class Exhausted(Exception):
    """The trials have taken all the work that they may."""


class Trials:
    """Tries edits on the nodes that the pod could go to."""

    def __init__(self, scheduler: Scheduler, decision: Decision) -> None:
        self.scheduler = scheduler
        self.decision = decision
        self._left = WORK_MAX
        self._kept = 0
        tried = [one for one in decision.answers if one.verdict not in (ELSEWHERE, UNAVAILABLE)]
        self.answers: list[NodeAnswer] = tried[:NODES_MAX]
        self._groups: dict[tuple[int, ...], tuple[tuple[Json, ...], list[str]]] = {}
        for one in self.answers:
            key = tuple(id(claim) for claim in one.claims)
            self._groups.setdefault(key, (one.claims, []))[1].append(one.node)

    @contextlib.contextmanager
    def keeping(self, work: int) -> Iterator[None]:
        """Leave so much of the work for what comes behind it."""
        self._kept = work
        try:
            yield
        finally:
            self._kept = 0

    def on(self, attempt: Attempt, node: Json) -> Answer:
        """Try on one node, and count what it takes.

        Raises:
            Exhausted: too much has been tried.
        """
        if self._left <= self._kept:
            raise Exhausted
        answer = attempt.on(node)
        # A search that was cut short does not say its steps.
        self._left -= 1 + (TRIAL_BUDGET if answer.verdict == BUDGET_OUT else answer.steps)
        return answer

    @property
    def claims(self) -> Sequence[Json]:
        """The claims as they are, of the first node where they differ."""
        for claims, _ in self._groups.values():
            return claims
        return ()

    def fits(self, edits: Iterable[Edit], *, names: Iterable[str] = ()) -> str | None:
        """The first node on which all fits with some edits, None if there is none.

        Raises:
            Exhausted: too much has been tried.
        """
        chosen = list(edits)
        only = frozenset(names) or frozenset.union(
            frozenset(), *(one.nodes for one in chosen if one.nodes)
        )
        released = sorted(frozenset().union(*(one.released for one in chosen)))
        allocations = [
            found
            for key in released
            if (found := allocation_of(self.scheduler.cluster.claims[key])) is not None
        ]
        state = self.scheduler.state
        for allocation in allocations:
            state.remove(allocation)
        try:
            return self._search(chosen, only)
        finally:
            for allocation in allocations:
                state.add(allocation)

    def _search(self, edits: Sequence[Edit], only: frozenset[str]) -> str | None:
        classes = self._classes(edits)
        for claims, names in self._groups.values():
            wanted = [name for name in names if not only or name in only]
            if not wanted:
                continue
            changed = copy.deepcopy(list(claims))
            for edit in edits:
                if edit.claims is not None:
                    edit.claims(changed)
            attempt = self.scheduler.attempt(changed, classes=classes, budget=TRIAL_BUDGET)
            for name in wanted:
                if self.on(attempt, self.scheduler.cluster.node(name)).verdict == FITS:
                    return name
        return None

    def _classes(self, edits: Sequence[Edit]) -> dict[str, Json]:
        classes = self.scheduler.cluster.classes
        gone: dict[str, set[int]] = {}
        for edit in edits:
            if edit.dropped is not None:
                gone.setdefault(edit.dropped[0], set()).add(edit.dropped[1])
        if not gone:
            return classes
        made = dict(classes)
        for name, numbers in gone.items():
            spec = classes[name].get("spec") or {}
            kept = [
                one
                for number, one in enumerate(spec.get("selectors") or ())
                if number not in numbers
            ]
            made[name] = {**classes[name], "spec": {**spec, "selectors": kept}}
        return made


def sources(claims: Sequence[Json]) -> Iterator[tuple[int, int, int, str, Json]]:
    """(claim, request, alternative or -1, full name, body) of everything that is asked for."""
    for number, claim in enumerate(claims):
        for place, request in enumerate(requests_of(claim)):
            name = str(request.get("name") or "")
            if request.get("exactly"):
                yield number, place, -1, name, request["exactly"]
            for which, one in enumerate(request.get("firstAvailable") or ()):
                yield number, place, which, f"{name}/{one.get('name')}", one


def source_at(claims: Sequence[Json], number: int, place: int, which: int) -> Json:
    """The body of a request or an alternative."""
    request = requests_of(claims[number])[place]
    found: Json = request["exactly"] if which < 0 else request["firstAvailable"][which]
    return found

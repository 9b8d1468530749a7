"""Claims tried on nodes: fits, does not fit, or why that cannot be said."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.allocator.bounds import Bounds
from pytest_dra.allocator.counters import Ledger
from pytest_dra.allocator.domains import Domain
from pytest_dra.allocator.domains import Fatal
from pytest_dra.allocator.domains import domains
from pytest_dra.allocator.index import Index
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.problem import Problem
from pytest_dra.allocator.quick import careful
from pytest_dra.allocator.quick import look
from pytest_dra.allocator.requests import Plan
from pytest_dra.allocator.results import Chosen
from pytest_dra.allocator.results import Json
from pytest_dra.allocator.results import results
from pytest_dra.allocator.search import PATIENCE
from pytest_dra.allocator.search import Exhausted
from pytest_dra.allocator.search import Restart
from pytest_dra.allocator.search import Search
from pytest_dra.allocator.state import State

BUDGET: Final = 1_000_000
"""Steps of one search, less than ten seconds. A search that needs more is a puzzle, not a claim."""

_ALONE: Final = 3000
"""Steps of the search that looks at one claim alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The verdict for one node.

    ``verdict`` is ``fits``, ``nofit`` (proved), ``node`` (an error of this node alone: a pool
    contradicts itself and nothing else fits), ``fatal`` (the scheduler gives up on the pod for
    now), ``budget`` (the search was cut short). ``results`` has one AllocationResult per claim.
    """

    node: str
    verdict: str
    results: tuple[Json, ...] = ()
    error: str = ""
    steps: int = 0


class Attempt:
    """One pod's claims, to be tried on one node after the other. The state must not change.

    ``budget`` are the steps that a search may take, ``patience`` the failures after which it
    looks for what it can leave out.
    """

    def __init__(
        self, index: Index, state: State, classes: Mapping[str, Mapping[str, Any]],
        claims: Sequence[Mapping[str, Any]], *, budget: int = BUDGET, patience: int = PATIENCE,
    ) -> None:  # fmt: skip
        self.index = index
        self.state = state
        self.rules = index.rules
        self.plan = Plan(claims, classes, index)
        self.budget = budget
        self.patience = patience
        self.ledger = Ledger(state)
        self._quick = self.plan.simple and bool(self.plan.units) and budget > 0

    def on(self, node: Mapping[str, Any]) -> Answer:
        """Try all claims on a node."""
        view = self.index.view(node)
        if self._quick and not view.fault:
            seen = look(self.plan, view, self.index, self.state)
            if isinstance(seen, str):
                return _refused(node, view, 0)
            if seen is not None:
                return self._fits(node, view, seen, {}, 0)
        name = nodes.name_of(node)
        fault = view.fault or self.plan.fault
        if fault:
            return Answer(name, "fatal", error=fault)
        try:
            return self._search(node, view, domains(self.plan, view, node, self.state))
        except Fatal as error:
            return Answer(name, "fatal", error=str(error))
        except Exhausted:
            return Answer(name, "budget", error=f"no answer in {self.budget} steps")

    def _search(self, node: nodes.Node, view: View, found: list[Domain]) -> Answer:
        is_careful = careful(self.index, view)
        problem = self._problem(view, found, careful=is_careful)
        all_of = len(self.plan.units)
        cuts = None if problem.all_clean or problem.literal else Bounds(problem, all_of)
        search = Search(problem, self.budget, cuts=cuts, patience=self.patience)
        try:
            frames = search.run()
        except Restart:
            if self._impossible(view, found):
                return _refused(node, view, search.steps)
            problem = self._problem(view, found, careful=False)
            search = Search(problem, self.budget, cuts=Bounds(problem, all_of))
            frames = search.run()
        if frames is None:
            return _refused(node, view, search.steps)
        chosen = [(frame.unit, frame.domain.option, frame.place) for frame in frames]
        return self._fits(node, view, chosen, search.selected, search.steps)

    def _fits(
        self, node: nodes.Node, view: View, chosen: Sequence[Chosen],
        selected: Mapping[int, int], steps: int,
    ) -> Answer:  # fmt: skip
        name = nodes.name_of(node)
        try:
            made = results(self.plan, view, node, chosen, selected, self.rules)
        except Fatal as error:
            return Answer(name, "fatal", error=str(error))
        return Answer(name, "fits", tuple(made), steps=steps)

    def _impossible(self, view: View, found: list[Domain]) -> bool:
        """True if one of several claims cannot be allocated even without the others."""
        if len(self.plan.claims) < 2:
            return False
        for units in reversed(self.plan.by_claim):
            if not units:
                continue
            problem = self._problem(view, found, careful=False)
            cuts = Bounds(problem, units.stop)
            alone = Search(problem, _ALONE, cuts=cuts, span=(units.start, units.stop))
            try:
                if alone.run() is None:
                    return True
            except (Exhausted, Fatal):
                continue
        return False

    def _problem(self, view: View, found: list[Domain], *, careful: bool) -> Problem:
        return Problem(self.plan, view, found, self.state, self.ledger, careful=careful)


def _refused(node: nodes.Node, view: View, steps: int) -> Answer:
    name = nodes.name_of(node)
    if view.invalid and not view.poison:
        faults = [f"{'/'.join(pool.key)} is {pool.fault}" for pool in view.pools if pool.invalid]
        return Answer(name, "node", error=f"pool {'; pool '.join(faults)}", steps=steps)
    return Answer(name, "nofit", steps=steps)


def unavailable(node: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the claims whose allocation cannot be used from a node."""
    found = []
    for claim in claims:
        allocation = (claim.get("status") or {}).get("allocation") or {}
        selector = allocation.get("nodeSelector")
        if selector is None:
            continue
        try:
            fits = nodes.selects(selector, node)
        except nodes.SelectorError:
            fits = False
        if not fits:
            found.append(str((claim.get("metadata") or {}).get("name")))
    return found

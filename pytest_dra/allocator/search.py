"""The search for devices: the first solution in the scheduler's own order, or none.

Depth first, without recursion. A frame stands for one device of a request, or for a request with
alternatives. Where nothing can abort the attempt, subtrees without a solution are cut: the first
solution stays the first one.
"""

from __future__ import annotations

from typing import Any
from typing import Final

from pytest_dra.allocator.bounds import Bounds
from pytest_dra.allocator.domains import Domain
from pytest_dra.allocator.domains import Fatal
from pytest_dra.allocator.matching import why_fatal
from pytest_dra.allocator.problem import Problem
from pytest_dra.allocator.requests import RESULTS_MAX

FAIL: Final = "fail"
EXCEEDED: Final = "exceeded"
"""The claim would have too many devices: other devices would not help, other alternatives may."""

DONE: Final = "done"

PATIENCE: Final = 40
"""Failures after which a search begins again with what it takes to cut."""

_MEMORY_MAX: Final = 200_000
"""Failed states that are remembered."""


class Exhausted(Exception):
    """The search has taken all the steps that it may."""


class Restart(Exception):
    """The plain search has failed often enough."""


class Choice:
    """A request with alternatives, of which the one before ``number`` is being tried."""

    __slots__ = ("exceeded", "number", "unit")

    def __init__(self, unit: int) -> None:
        self.unit = unit
        self.number = 0
        self.exceeded = True


class Pick:
    """One device of a request: ``scan`` are the devices that are still to be tried."""

    __slots__ = (
        "before", "domain", "excluded", "index", "key", "place", "saved", "scan", "unit",
    )  # fmt: skip

    def __init__(self, unit: int, domain: Domain, index: int, scan: int, excluded: int) -> None:
        self.unit = unit
        self.domain = domain
        self.index = index
        self.scan = scan
        self.excluded = excluded
        self.place = -1
        self.saved: Any = None
        self.before: Any = None
        self.key: Any = None


class Search:
    """One search over a problem; ``cuts`` is None for the plain one.

    ``span`` limits it to some of the requests, as if there were no others.
    """

    def __init__(
        self, problem: Problem, budget: int, *, cuts: Bounds | None, patience: int = PATIENCE,
        span: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.problem = problem
        self.steps = 0
        self.budget = budget
        self.cuts = cuts
        self.units = problem.plan.units
        self.stack: list[Choice | Pick] = []
        self.selected: dict[int, int] = {}
        self._exceeded_in = -1
        self._first, self._last = span or (0, len(self.units))
        self._failures = 0
        self._patience = patience
        self._memory: dict[Any, str] = {}

    def run(self) -> list[Pick] | None:
        """The frames of the solution in order, None if there is none.

        Raises:
            Fatal: the scheduler aborts the attempt.
            Exhausted: the budget is used up.
            Restart: a plain search fails too often.
        """
        outcome = self._enter(self._first)
        while outcome is not DONE:
            if outcome is None:
                self.steps += 1
                if self.steps + (self.cuts.effort if self.cuts is not None else 0) > self.budget:
                    raise Exhausted
                frame = self.stack[-1]
                if isinstance(frame, Choice):
                    outcome = self._alternative(frame)
                else:
                    outcome = self._next(frame)
            elif not self.stack:
                if outcome is EXCEEDED:
                    raise Fatal("more devices than a claim can have")
                return None
            else:
                outcome = self._back(outcome)
        return [frame for frame in self.stack if isinstance(frame, Pick)]

    def _enter(self, unit: int) -> str | None:
        if unit >= self._last:
            return DONE
        one = self.units[unit]
        if self.cuts is not None and not self.cuts.may_fit(unit):
            return FAIL
        if one.chooses:
            self.stack.append(Choice(unit))
            return None
        return self._enter_option(unit, self.problem.domains[one.options[0].number])

    def _enter_option(self, unit: int, domain: Domain) -> str | None:
        if domain.option.every and not domain.members:
            return FAIL
        return self._open(unit, domain, 0, 0, 0)

    def _open(self, unit: int, domain: Domain, index: int, start: int, excluded: int) -> str | None:
        """Begin with one more device of a request."""
        if index >= domain.count:
            return self._enter(unit + 1)
        problem, claim = self.problem, self.units[unit].claim
        wanted = domain.count - index
        if wanted > RESULTS_MAX - problem.results[claim]:
            self._exceeded_in = claim
            return EXCEEDED
        if domain.option.every:
            scan = 1 << domain.members[index]
        else:
            scan = problem.open_to(domain, claim) >> start << start & ~excluded
        frame = Pick(unit, domain, index, scan, excluded)
        cuts = self.cuts
        if cuts is not None and not domain.option.every:
            if cuts.allowed(unit):
                frame.scan = scan = cuts.narrowed(domain, claim, scan)
                if scan.bit_count() < wanted or cuts.too_dear(unit, domain, wanted, scan):
                    return FAIL
            frame.key = cuts.key(unit, domain, index, scan)
            known = self._memory.get(frame.key)
            if known is not None:
                if known is EXCEEDED:
                    self._exceeded_in = claim
                return known
        self.stack.append(frame)
        return None

    def _alternative(self, frame: Choice) -> str | None:
        options = self.units[frame.unit].options
        if frame.number >= len(options):
            self.stack.pop()
            return EXCEEDED if frame.exceeded else FAIL
        option = options[frame.number]
        self.selected[frame.unit] = frame.number
        frame.number += 1
        return self._enter_option(frame.unit, self.problem.domains[option.number])

    def _next(self, frame: Pick) -> str | None:
        """Take the next device that can be had."""
        problem, domain = self.problem, frame.domain
        claim = self.units[frame.unit].claim
        while frame.scan:
            low = frame.scan & -frame.scan
            frame.scan ^= low
            place = low.bit_length() - 1
            if low & domain.fatal:
                raise Fatal(why_fatal(domain.option, problem.view, place, problem.rules))
            if problem.commit(frame, claim, place):
                start, excluded = 0 if problem.repeats else place + 1, frame.excluded
                if domain.option.every and problem.rules.loses_alternative:
                    start, domain = 0, problem.domains[self.units[frame.unit].options[0].number]
                return self._open(frame.unit, domain, frame.index + 1, start, excluded)
            self.steps += 1
            if domain.option.every:
                break
        return self._leave(frame, FAIL)

    def _leave(self, frame: Pick, outcome: str) -> str:
        self.stack.pop()
        if frame.key is not None:
            if len(self._memory) >= _MEMORY_MAX:
                self._memory.clear()
            self._memory[frame.key] = outcome
        return outcome

    def _back(self, outcome: str) -> str | None:
        """Go on with the top frame after what it had chosen has led nowhere."""
        frame = self.stack[-1]
        claim = self.units[frame.unit].claim
        if outcome is EXCEEDED and self._exceeded_in != claim:
            outcome = FAIL
        if isinstance(frame, Choice):
            frame.exceeded = frame.exceeded and outcome is EXCEEDED
            return None
        return self._failed(frame, claim, outcome)

    def _failed(self, frame: Pick, claim: int, outcome: str) -> str | None:
        self.problem.undo(frame, claim)
        if outcome is EXCEEDED:
            return self._leave(frame, EXCEEDED)
        self._failures += 1
        cuts = self.cuts
        if cuts is None:
            if self._failures > self._patience and self.problem.all_clean:
                raise Restart
        elif frame.scan and cuts.symmetric(frame.unit):
            same = cuts.alike(frame.place)
            frame.scan &= ~same
            frame.excluded |= same
        return None

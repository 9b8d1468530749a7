"""What cuts the search without changing its answer: devices that are alike, and what cannot fit.

Only subtrees are cut in which there is no solution and nothing that aborts the attempt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from typing import Final

from pytest_dra.allocator import attributes
from pytest_dra.allocator.assignment import assigns
from pytest_dra.allocator.constraints import Constraint
from pytest_dra.allocator.domains import Domain
from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.problem import Problem

_VALUES_MAX: Final = 64
"""Values of a constraint that are tried one by one."""

_DEAR_MAX: Final = 512
"""Devices whose counters are compared when a device is chosen."""

Slot = tuple[int, int]
"""A set of devices and how many of them are wanted."""


class Bounds:
    """Cuts for one problem."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._alike: dict[int, int] | None = None
        calm = problem.all_clean or problem.fits_limits()
        self._allowed = [calm] * len(problem.clean)
        for unit in range(len(problem.clean) - 1, -1, -1):
            if not problem.clean[unit]:
                self._allowed[: unit + 1] = [False] * (unit + 1)
                break
        self._later = self._unions()
        self._admin = any(option.admin for option in problem.plan.options)
        self._tables: dict[Any, dict[Any, int] | None] = {}

    def _unions(self) -> list[int]:
        """Devices that matter from each unit on."""
        problem = self._problem
        union, found = problem.view.consumers, []
        for unit in reversed(problem.plan.units):
            for option in unit.options:
                union |= problem.domains[option.number].usable
            found.append(union)
        return found[::-1]

    def allowed(self, unit: int) -> bool:
        """True if nothing from a unit on can abort the attempt."""
        return self._allowed[unit]

    def alike(self, place: int) -> int:
        """Devices that make no difference to the one at a place, and are in the same state."""
        problem = self._problem
        if self._alike is None:
            self._alike = classes(problem)
        same = self._alike.get(place, 0)
        bit = 1 << place
        if bit & problem.view.shareable:
            if place in problem.sharers:
                return bit
            for other in problem.sharers:
                same &= ~(1 << other)
            return same | bit
        return (same & problem.picked if bit & problem.picked else same & ~problem.picked) | bit

    def key(self, unit: int, domain: Domain, index: int, scan: int) -> Any:
        """Everything that what is still to come depends on."""
        problem = self._problem
        claim = problem.plan.units[unit].claim
        states = tuple(
            frozenset(state) if constraint.distinct and state is not None else state
            for constraint, state in zip(
                problem.plan.constraints[claim], problem.constrained[claim], strict=True
            )
        )
        shares = tuple(
            (place, problem.sharers[place], tuple(sorted(problem.shares[place].items())))
            for place in sorted(problem.sharers)
        )
        return (
            unit, domain.option.number, index, problem.results[claim], scan,
            problem.picked & self._later[unit], problem.own[claim] if self._admin else 0,
            states, shares,
        )  # fmt: skip

    def table(self, domain: Domain, constraint: Constraint) -> dict[Any, int] | None:
        """Devices of a domain by the value that a constraint compares; None if that is no key."""
        key = (domain.option.number, id(constraint))
        if key not in self._tables:
            self._tables[key] = self._by_value(domain, constraint)
        return self._tables[key]

    def _by_value(self, domain: Domain, constraint: Constraint) -> dict[Any, int] | None:
        if constraint.lists:
            return None
        found: dict[Any, int] = {}
        for place in ordered(domain.usable):
            value = self._problem.value(domain.option, constraint, place)
            if value is attributes.ABSENT:
                continue
            if sum(one is not None for one in value) != 1:
                return None
            found[value] = found.get(value, 0) | 1 << place
        return found

    def narrowed(self, domain: Domain, claim: int, scan: int) -> int:
        """What is left of a set of devices under the values that constraints have fixed."""
        for constraint in domain.option.constraints:
            state = self._problem.constrained[claim][constraint.number]
            table = self.table(domain, constraint)
            if table is None:
                continue
            if state is None:
                scan &= _union(table.values())
            elif constraint.distinct:
                for value in state:
                    scan &= ~table.get(value, 0)
            else:
                scan &= table.get(state, 0)
        return scan

    def too_dear(self, domain: Domain, scan: int, wanted: int) -> bool:
        """True if the cheapest devices already need more of a counter than is left."""
        problem = self._problem
        view = problem.view
        consumers = scan & view.consumers
        wanted -= (scan & ~consumers).bit_count()
        if wanted <= 0 or consumers & view.shareable or consumers.bit_count() > _DEAR_MAX:
            return False
        part = view.part(consumers.bit_length() - 1)
        amounts = []
        for place in ordered(consumers):
            one = view.part(place)
            if one.pool is not part.pool:
                return False
            amounts.append(one.layout.consumption(place - one.offset))
        left = problem.booking.left(part.pool)
        return any(
            sum(sorted(one.get(key, 0) for one in amounts)[:wanted]) > amount
            for key, amount in left.items()
        )

    def may_fit(self, unit: int) -> bool:
        """False if the requests from a unit on cannot all have their devices."""
        if not self._allowed[unit]:
            return True
        problem = self._problem
        slots: list[Slot] = []
        rest = problem.plan.units[unit:]
        by_claim: dict[int, list[tuple[Domain, int]]] = {}
        for one in rest:
            if one.chooses:
                continue
            option = one.options[0]
            domain = problem.domains[option.number]
            if option.admin or option.every:
                continue
            scan = self.narrowed(domain, one.claim, problem.open_to(domain, one.claim))
            if scan.bit_count() < domain.count:
                return False
            if not scan & problem.view.shareable:
                slots.append((scan, domain.count))
            by_claim.setdefault(one.claim, []).append((domain, scan))
        if len(slots) > 1 and not assigns(slots):
            return False
        return all(self._values_fit(claim, found) for claim, found in by_claim.items())

    def _values_fit(self, claim: int, found: list[tuple[Domain, int]]) -> bool:
        """False if a constraint of a claim has no value, or too few, for its requests."""
        problem = self._problem
        for constraint in problem.plan.constraints[claim]:
            bound = [each for each in found if constraint in each[0].option.constraints]
            tables = [self.table(domain, constraint) for domain, _ in bound]
            known = [table for table in tables if table is not None]
            if len(known) < len(bound) or not bound:
                continue
            if constraint.distinct:
                if not _different(bound, known):
                    return False
                continue
            fixed = problem.constrained[claim][constraint.number] is not None
            if not fixed and not self._same(bound, known):
                return False
        return True

    def _same(self, bound: list[tuple[Domain, int]], tables: list[dict[Any, int]]) -> bool:
        if len(tables[0]) > _VALUES_MAX:
            return True
        shareable = self._problem.view.shareable
        for value in tables[0]:
            slots = [
                (scan & table.get(value, 0), domain.count)
                for (domain, scan), table in zip(bound, tables, strict=True)
            ]
            if any(devices.bit_count() < count for devices, count in slots):
                continue
            whole = [slot for slot in slots if not slot[0] & shareable]
            if len(whole) < 2 or assigns(whole):
                return True
        return False


def _different(bound: list[tuple[Domain, int]], tables: list[dict[Any, int]]) -> bool:
    """True if each request can have as many values as it wants devices, all different."""
    numbers: dict[Any, int] = {}
    slots = []
    for (domain, scan), table in zip(bound, tables, strict=True):
        values = 0
        for value, devices in table.items():
            if devices & scan:
                values |= 1 << numbers.setdefault(value, len(numbers))
        slots.append((values, domain.count))
    return assigns(slots)


def _union(sets: Iterable[int]) -> int:
    found = 0
    for one in sets:
        found |= one
    return found


def classes(problem: Problem) -> dict[int, int]:
    """For each device those that differ from it in nothing that the claims can see."""
    usable = _union(domain.usable for domain in problem.domains)
    groups: dict[Any, int] = {}
    keys: dict[int, Any] = {}
    for place in ordered(usable):
        keys[place] = key = _looks(problem, place)
        groups[key] = groups.get(key, 0) | 1 << place
    return {place: groups[key] for place, key in keys.items()}


def _looks(problem: Problem, place: int) -> Any:
    """What of a device the claims can see."""
    view, bit = problem.view, 1 << place
    part = view.part(place)
    inner = place - part.offset
    device = part.layout.devices[inner]
    values: list[Any] = []
    for domain in problem.domains:
        if not domain.usable & bit:
            values.append(None)
            continue
        values.append(
            [
                problem.value(domain.option, constraint, place)
                for constraint in domain.option.constraints
            ]
        )
    looks = [repr(values), bool(problem.busy & bit)]
    if view.consumers & bit:
        looks += [part.pool.key, repr(device.get("consumesCounters"))]
    if view.shareable & bit or place in problem.stored:
        looks += [bool(view.shareable & bit), repr(device.get("capacity"))]
        looks.append(repr(problem.stored.get(place)))
        use = problem.state.pools.get(part.slice.key)
        looks.append(use is not None and use.shared(part.layout.name(inner)))
    return tuple(looks)

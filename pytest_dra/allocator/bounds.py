"""What cuts the search without changing its answer: devices that are alike, and what cannot fit.

Only subtrees are cut in which there is no solution and nothing that aborts the attempt. What has
failed once fails again, also with devices that are like those of the first time; what has not been
tried may be left out where nothing can abort.
"""

from __future__ import annotations

from typing import Any
from typing import Final

from pytest_dra.allocator.alike import classes
from pytest_dra.allocator.assignment import assigns
from pytest_dra.allocator.constraints import Constraint
from pytest_dra.allocator.domains import Domain
from pytest_dra.allocator.pricing import Prices
from pytest_dra.allocator.pricing import Slot
from pytest_dra.allocator.problem import Problem
from pytest_dra.allocator.requests import Unit
from pytest_dra.allocator.rooms import Rooms
from pytest_dra.allocator.tables import Counter
from pytest_dra.allocator.tables import Tables
from pytest_dra.allocator.tables import elements

_VALUES_MAX: Final = 64
"""Values of a constraint that are tried one by one."""

_THOROUGH: Final = 32
"""Steps of a search that take as long as weighing all requests once."""

_TRIED: Final = 200
"""So often all requests are weighed in any case."""

_WORTH: Final = 20
"""One in so many has to be a cut; else it is tried every ``_SELDOM`` times only."""

_SELDOM: Final = 16


class Need:
    """Devices that a request wants at least: ``count`` out of a set.

    ``tables`` has devices by value for each constraint that it is under. ``whole`` ones have
    their devices for themselves, as far as other whole ones are concerned.
    """

    __slots__ = ("count", "scan", "tables", "whole")

    def __init__(
        self, scan: int, count: int, tables: dict[Constraint, dict[Any, int]], *, whole: bool
    ) -> None:
        self.scan = scan
        self.count = count
        self.tables = tables
        self.whole = whole


class Bounds:
    """Cuts for one problem; ``last`` is the first unit that does not count any more.

    ``effort`` is what has been spent on thorough ones, in steps of a search.
    """

    def __init__(self, problem: Problem, last: int) -> None:
        self._problem = problem
        self._last = last
        self._alike: dict[int, int] | None = None
        calm = problem.all_clean or problem.fits_limits()
        self._allowed = [calm] * len(problem.clean)
        self._symmetric = [True] * len(problem.clean)
        for unit, clean in enumerate(problem.clean):
            if clean:
                continue
            self._allowed[: unit + 1] = [False] * (unit + 1)
            options = problem.plan.units[unit].options
            if any(option.every and option.constraints for option in options):
                self._symmetric[: unit + 1] = [False] * (unit + 1)
        self._later = self._unions()
        self._admin = any(option.admin for option in problem.plan.options)
        self._tables = Tables(problem)
        self._prices = Prices(problem)
        self.effort = 0
        self._asked = self._cut = 0
        self._rooms = Rooms(problem)

    def _unions(self) -> list[int]:
        """Devices that matter from each unit on."""
        problem = self._problem
        union, found = problem.view.consumers, []
        for unit in reversed(problem.plan.units):
            for option in unit.options:
                domain = problem.domains[option.number]
                union |= domain.usable | domain.fatal
            found.append(union)
        return found[::-1]

    def allowed(self, unit: int) -> bool:
        """True if nothing from a unit on can abort the attempt."""
        return self._allowed[unit]

    def symmetric(self, unit: int) -> bool:
        """True if it makes no difference which of devices that are alike a unit tries first.

        A request for all takes its devices in an order, and a constraint may abort on the way.
        """
        return self._symmetric[unit]

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

    def narrowed(self, domain: Domain, claim: int, scan: int) -> int:
        """What is left of a set of devices under the values that constraints have fixed."""
        for constraint in domain.option.constraints:
            state = self._problem.constrained[claim][constraint.number]
            table = self._tables.values(domain, constraint)
            if table is None:
                continue
            if state is None:
                scan &= _union(list(table.values()))
            elif constraint.distinct:
                for value in state:
                    for one in elements(constraint, value):
                        scan &= ~table.get(one, 0)
            else:
                scan &= _union([table.get(one, 0) for one in elements(constraint, state)])
        return self._rooms.roomy(domain.option, scan)

    def too_dear(self, unit: int, domain: Domain, wanted: int, scan: int) -> bool:
        """True if even the cheapest devices need more of a counter than is left."""
        if not self._problem.view.consumers:
            return False
        return self._each_too_dear(unit, domain, wanted) or self._all_too_dear(
            unit, domain, wanted, scan
        )

    def _all_too_dear(self, unit: int, domain: Domain, wanted: int, scan: int) -> bool:
        """The same where no two requests can have one device; not always where that is in vain."""
        self._asked += 1
        if self._cut * _WORTH < self._asked > _TRIED and self._asked % _SELDOM:
            return False
        self.effort += _THOROUGH
        whole: list[Slot] = []
        others: list[Slot] = []
        option = domain.option
        (others if self._rooms.loose(option, scan) else whole).append((scan, wanted))
        for one in self._problem.plan.units[unit + 1 : self._last]:
            need = self._need(one)
            if need is not None:
                (whole if need.whole else others).append((need.scan, need.count))
        exceeded = self._prices.exceeded(whole, others)
        self._cut += exceeded
        return exceeded

    def _each_too_dear(self, unit: int, domain: Domain, wanted: int) -> bool:
        """The same for each request by itself."""
        problem = self._problem
        needs: dict[Counter, int] = {}
        self._add_costs(needs, domain, wanted)
        for one in problem.plan.units[unit + 1 : self._last]:
            found = [problem.domains[option.number] for option in one.options]
            self._add_least(needs, found)
        if not needs:
            return False
        left = {
            key: problem.booking.left(self._tables.pools[key]) for key in {one for one, _ in needs}
        }
        return any(
            amount > left[pool].get(counter, amount) for (pool, counter), amount in needs.items()
        )

    def _add_costs(self, needs: dict[Counter, int], domain: Domain, wanted: int) -> None:
        for key, sums in self._tables.costs(domain).items():
            if wanted < len(sums):
                needs[key] = needs.get(key, 0) + sums[wanted]

    def _add_least(self, needs: dict[Counter, int], found: list[Domain]) -> None:
        """Add what every alternative needs at least."""
        if len(found) == 1:
            self._add_costs(needs, found[0], found[0].count)
            return
        least: list[dict[Counter, int]] = []
        for domain in found:
            least.append({})
            self._add_costs(least[-1], domain, domain.count)
        for key in set(least[0]).intersection(*least[1:]):
            needs[key] = needs.get(key, 0) + min(one[key] for one in least)

    def may_fit(self, unit: int) -> bool:
        """False if the requests from a unit on cannot all have their devices."""
        if not self._allowed[unit]:
            return True
        whole: list[tuple[int, int]] = []
        by_claim: dict[int, list[Need]] = {}
        for one in self._problem.plan.units[unit : self._last]:
            need = self._need(one)
            if need is None:
                continue
            if need.scan.bit_count() < need.count:
                return False
            if need.whole:
                whole.append((need.scan, need.count))
            by_claim.setdefault(one.claim, []).append(need)
        if len(whole) > 1 and not assigns(whole):
            return False
        return all(self._values_fit(claim, needs) for claim, needs in by_claim.items())

    def _need(self, unit: Unit) -> Need | None:
        """What a request wants whichever alternative is taken; None if that says nothing."""
        problem = self._problem
        scan, loose, counts = 0, 0, []
        tables: dict[Constraint, dict[Any, int]] = {}
        for number, option in enumerate(unit.options):
            if option.admin or option.every:
                return None
            domain = problem.domains[option.number]
            free = problem.open_to(domain, unit.claim)
            found = self.narrowed(domain, unit.claim, free)
            if found.bit_count() < domain.count:
                continue
            scan |= found
            loose |= self._rooms.loose(option, found)
            counts.append(domain.count)
            if number == 0 and not unit.chooses:
                for constraint in option.constraints:
                    table = self._tables.values(domain, constraint)
                    if table is not None:
                        tables[constraint] = table
        return Need(scan, min(counts, default=1), tables, whole=not loose)

    def _values_fit(self, claim: int, needs: list[Need]) -> bool:
        """False if a constraint of a claim has no value, or too few, for its requests."""
        problem = self._problem
        for constraint in problem.plan.constraints[claim]:
            bound = [need for need in needs if constraint in need.tables]
            if not bound:
                continue
            if constraint.distinct:
                if not _different(constraint, bound):
                    return False
                continue
            fixed = problem.constrained[claim][constraint.number] is not None
            if not fixed and not self._same(constraint, bound):
                return False
        return True

    def _same(self, constraint: Constraint, bound: list[Need]) -> bool:
        values = bound[0].tables[constraint]
        if len(values) > _VALUES_MAX:
            return True
        for value in values:
            slots = [(one.scan & one.tables[constraint].get(value, 0), one.count) for one in bound]
            if any(devices.bit_count() < count for devices, count in slots):
                continue
            whole = [slot for slot, one in zip(slots, bound, strict=True) if one.whole]
            if len(whole) < 2 or assigns(whole):
                return True
        return False


def _different(constraint: Constraint, bound: list[Need]) -> bool:
    """True if each request can have as many values as it wants devices, all different."""
    numbers: dict[Any, int] = {}
    slots = []
    for need in bound:
        values = 0
        for value, devices in need.tables[constraint].items():
            if devices & need.scan:
                values |= 1 << numbers.setdefault(value, len(numbers))
        slots.append((values, need.count))
    return assigns(slots)


def _union(sets: list[int]) -> int:
    found = 0
    for one in sets:
        found |= one
    return found

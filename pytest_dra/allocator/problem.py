"""Claims on one node while devices are being taken and given back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.allocator import attributes
from pytest_dra.allocator.constraints import Constraint
from pytest_dra.allocator.counters import Booking
from pytest_dra.allocator.counters import Ledger
from pytest_dra.allocator.domains import Domain
from pytest_dra.allocator.domains import Fatal
from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.matching import price_of
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import RESULTS_MAX
from pytest_dra.allocator.requests import Option
from pytest_dra.allocator.requests import Plan
from pytest_dra.allocator.rules import Rules
from pytest_dra.allocator.state import State

_UNKNOWN: Final = object()


class Problem:
    """What the search works on.

    ``busy`` are devices in use in the cluster, ``picked`` devices that were taken for any claim
    and ``own`` those by claim, ``results`` the number of devices of each claim.
    """

    def __init__(
        self, plan: Plan, view: View, found: list[Domain], state: State, ledger: Ledger,
        *, careful: bool,
    ) -> None:  # fmt: skip
        self.plan = plan
        self.view = view
        self.domains = found
        self.state = state
        self.rules: Rules = state.rules
        self.busy = state.busy(view)
        self.booking = Booking(ledger, groups=self.rules.groups)
        self.picked = 0
        claims = len(plan.claims)
        self.own = [0] * claims
        self.results = [0] * claims
        self.constrained: list[list[Any]] = [[None] * len(one) for one in plan.constraints]
        self.shares: dict[int, dict[str, int]] = {}
        self.sharers: dict[int, int] = {}
        self._values: dict[Any, dict[int, Any]] = {}
        self.forgetful = any(not each.restores for one in plan.constraints for each in one)
        leaks = self.rules.leaks and bool(view.consumers)
        self.repeats = self.rules.permutes and (leaks or self.forgetful or bool(view.shareable))
        self.literal = self.forgetful or self.repeats
        careful = careful or self.literal
        self.clean = [not careful and self._is_clean(unit.options) for unit in plan.units]
        self.all_clean = all(self.clean)

    def _is_clean(self, options: list[Option]) -> bool:
        """True if nothing that an option can reach aborts the attempt."""
        for option in options:
            domain = self.domains[option.number]
            if option.every and not all(self._agrees(one) for one in option.constraints):
                return False
            if domain.fatal & ~(0 if option.admin else self.busy):
                return False
            for constraint in option.constraints:
                if constraint.attribute in option.derived:
                    values = attributes.values(option, constraint, domain.usable, self.view)
                    if attributes.FAILED in values.values():
                        return False
        return True

    def _agrees(self, constraint: Constraint) -> bool:
        """True if every device that any request can take has the same value for a constraint."""
        if constraint.distinct:
            return False
        seen = set()
        for domain in self.domains:
            option = domain.option
            if constraint not in option.constraints:
                continue
            places = domain.members if option.every else ordered(domain.usable)
            for place in places:
                value = self.look_up(option, constraint, place)
                if value is None or value is attributes.ABSENT or value is attributes.FAILED:
                    return False
                seen.add(value)
                if len(seen) > 1 or not is_single(value, constraint):
                    return False
        return True

    def fits_limits(self) -> bool:
        """True if no choice of alternatives can make a claim too large."""
        most = [0] * len(self.plan.claims)
        for unit in self.plan.units:
            most[unit.claim] += max(self.domains[one.number].count for one in unit.options)
        return all(one <= RESULTS_MAX for one in most)

    def open_to(self, domain: Domain, claim: int) -> int:
        """Devices that are not in use for a request, with those that abort."""
        free = ~self.own[claim] if domain.option.admin else ~(self.busy | self.picked)
        return (domain.usable | domain.fatal) & free

    def commit(self, frame: Any, claim: int, place: int) -> bool:
        """Take a device for a frame; False if that is not possible.

        Raises:
            Fatal: the scheduler aborts.
        """
        domain: Domain = frame.domain
        option, bit = domain.option, 1 << place
        if option.every and not bit & domain.usable & self.open_to(domain, claim):
            return False
        shared = bool(self.view.shareable & bit)
        tight = shared or self.stored(place) is not None
        if tight and not option.every and not self._has_room(option, place):
            return False
        part = self.view.part(place)
        inner = place - part.offset
        frame.saved = None
        if bit & self.view.consumers and not (shared and self._is_shared(place)):
            frame.saved = self.booking.take(part, inner)
            if frame.saved is None or bit & domain.refused:
                return False
        try:
            states = self._constrain(option, claim, place)
        except Fatal:
            self._release(frame, part, inner)
            raise
        if states is None or (tight and option.every and not self._has_room(option, place)):
            if not self.rules.leaks:
                self._release(frame, part, inner)
            if states is not None:
                self._give_up(option, claim, states, 0 if shared else bit)
            if states is None and option.every:
                name = part.layout.name(inner)
                raise Fatal(f"request {option.full_name}: a constraint forbids device {name}")
            return False
        frame.place = place
        frame.before = self.constrained[claim]
        self.constrained[claim] = states
        self.results[claim] += 1
        if shared:
            self._add_share(option, place, 1)
        else:
            self.picked |= bit
            self.own[claim] |= bit
        return True

    def _give_up(self, option: Option, claim: int, states: list[Any], bit: int) -> None:
        """Take a device of a request for all back, whose capacity is used up."""
        if not self.rules.leaks:
            self._take_back(option, claim, states)
            return
        self.constrained[claim] = states
        self.picked |= bit
        self.own[claim] |= bit

    def stored(self, place: int) -> Mapping[str, int] | None:
        """What is consumed of a device in the cluster, None if nothing is."""
        if not self.state.pools or not self.rules.sharing:
            return None
        part = self.view.part(place)
        return self.state.consumed(part.slice.key, part.layout.name(place - part.offset))

    def _release(self, frame: Any, part: Any, inner: int) -> None:
        if frame.saved is not None:
            self.booking.give_back(part, inner, frame.saved)

    def undo(self, frame: Any, claim: int) -> None:
        """Give back what :meth:`commit` has taken."""
        place = frame.place
        part = self.view.part(place)
        shared = self.view.shareable >> place & 1
        if not (shared and self.rules.leaks):
            self._release(frame, part, place - part.offset)
        if self.forgetful:
            self.constrained[claim], states = frame.before, self.constrained[claim]
            self._take_back(frame.domain.option, claim, states)
        else:
            self.constrained[claim] = frame.before
        self.results[claim] -= 1
        if shared:
            self._add_share(frame.domain.option, place, -1)
            return
        keep = ~(1 << place)
        self.own[claim] &= keep
        if not any(own >> place & 1 for own in self.own):
            self.picked &= keep

    def _add_share(self, option: Option, place: int, step: int) -> None:
        part = self.view.part(place)
        amounts = price_of(option, part.layout, place - part.offset, self.rules).amounts
        held = self.shares.setdefault(place, {})
        for name, amount in amounts.items():
            held[name] = held.get(name, 0) + step * amount
        self.sharers[place] = self.sharers.get(place, 0) + step
        if self.rules.leaks and step < 0:
            self._forget_share(place)
            return
        if not self.sharers[place]:
            del self.sharers[place], self.shares[place]

    def _forget_share(self, place: int) -> None:
        """Give a share back as releases did that look at amounts, not at how many there are."""
        held = self.shares[place]
        if not held:
            self.sharers[place] += 1
        elif not any(held.values()):
            del self.sharers[place], self.shares[place]

    def _is_shared(self, place: int) -> bool:
        if self.rules.recharges:
            return False
        if place in self.sharers:
            return True
        part = self.view.part(place)
        use = self.state.pools.get(part.slice.key)
        name = part.layout.name(place - part.offset)
        return use is not None and (
            use.shared(name) if self.rules.remembers_shares else name in use.consumed
        )

    def _has_room(self, option: Option, place: int) -> bool:
        part = self.view.part(place)
        cost = price_of(option, part.layout, place - part.offset, self.rules)
        stored = self.stored(place) or {}
        held = self.shares.get(place) or {}
        return all(
            amount + stored.get(name, 0) + held.get(name, 0) <= cost.limits[name]
            for name, amount in cost.amounts.items()
        )

    def _constrain(self, option: Option, claim: int, place: int) -> list[Any] | None:
        states = self.constrained[claim]
        if not option.constraints:
            return states
        made = states.copy()
        name = option.parent or option.name
        for number, constraint in enumerate(option.constraints):
            value = self.value(option, constraint, place)
            state = None
            if value is not attributes.ABSENT:
                state = constraint.add(made[constraint.number], value, name)
            if state is None:
                self._take_back(option, claim, made, number)
                return None
            made[constraint.number] = state
        return made

    def _take_back(
        self, option: Option, claim: int, states: list[Any], count: int | None = None
    ) -> None:
        """Let the first constraints of an option forget a device, if they do not restore."""
        if not self.forgetful:
            return
        kept = self.constrained[claim].copy()
        for constraint in option.constraints[:count]:
            if not constraint.restores:
                state = states[constraint.number]
                kept[constraint.number] = constraint.removed(state, option.parent or option.name)
        self.constrained[claim] = kept

    def value(self, option: Option, constraint: Constraint, place: int) -> Any:
        """The value of a device for a constraint, ``ABSENT`` if it has none.

        Raises:
            Fatal: a derived attribute fails.
        """
        found = self.look_up(option, constraint, place)
        if found is attributes.FAILED:
            raise Fatal(f"request {option.full_name}: {constraint.attribute} cannot be derived")
        return found

    def look_up(self, option: Option, constraint: Constraint, place: int) -> Any:
        """The value of a device for a constraint, ``ABSENT`` or ``FAILED``."""
        key = (id(constraint), option.derived.get(constraint.attribute))
        values = self._values.setdefault(key, {})
        found = values.get(place, _UNKNOWN)
        if found is _UNKNOWN:
            found = attributes.value(option, constraint, place, self.view)
            if constraint.distinct and self.rules.shallow and isinstance(found, tuple):
                found = tuple(None if one is None else place for one in found)
            values[place] = found
        return found


def is_single(value: Any, constraint: Constraint) -> bool:
    """True if a value is of one type, so that it agrees with itself."""
    return constraint.lists or sum(one is not None for one in value) == 1

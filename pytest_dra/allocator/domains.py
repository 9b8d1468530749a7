"""What each request can take on one node, before the search."""

from __future__ import annotations

from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.matching import match
from pytest_dra.allocator.matching import price_of
from pytest_dra.allocator.matching import why_fatal
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import RESULTS_MAX
from pytest_dra.allocator.requests import Option
from pytest_dra.allocator.requests import Plan
from pytest_dra.allocator.rules import Rules
from pytest_dra.allocator.state import State

OPTIONAL_OPERATIONS: Final = "DRAOptionalNodeOperations"
"""What a node declares if its kubelet knows of optional node operations."""


class Fatal(Exception):
    """The scheduler aborts the attempt for the pod."""


class Domain:
    """Devices of a node for one option.

    ``usable`` ones can be taken as far as their own properties go, ``fatal`` ones abort when they
    are reached, ``refused`` ones are usable but for a taint that shows late. ``members`` are the
    devices of a request for all. ``count`` is how many are wanted.
    """

    __slots__ = ("count", "fatal", "members", "option", "refused", "usable")

    def __init__(self, option: Option, view: View, node: nodes.Node, rules: Rules) -> None:
        found = match(option, view, rules)
        self.option = option
        self.usable = found.usable
        self.fatal = found.fatal
        self.refused = 0
        self.members: list[int] = []
        self.count = option.count
        taken = found.taken
        if option.every and option.borrowed is not None:
            other = match(option.borrowed, view, rules)
            taken, self.fatal = other.taken, other.failed
            self.usable = taken & found.roomy & found.tolerated
        if view.elsewhere or view.broken:
            taken &= ~view.elsewhere
            self.usable &= ~(view.elsewhere | view.broken)
            self.fatal = found.failed | (taken & (found.unpriced | view.broken))
        if view.skipping and not usable_operations(node, rules):
            self.usable &= ~view.skipping
        self.fatal |= view.poison
        if rules.leaks and rules.partitionable:
            self.refused = taken & found.roomy & ~found.tolerated & view.consumers & ~view.broken
            self.usable |= self.refused
        if option.every:
            self._collect(taken & found.roomy, view, rules)

    def _collect(self, taken: int, view: View, rules: Rules) -> None:
        for pool in view.pools:
            if pool.fault or pool.incomplete:
                fault = pool.fault or "incomplete"
                text = f"asks for all devices, but pool {'/'.join(pool.key)} is {fault}"
                raise Fatal(f"request {self.option.full_name}: {text}")
        if self.fatal:
            place = ordered(self.fatal)[0]
            raise Fatal(why_fatal(self.option, view, place, rules))
        self.members = ordered(taken)
        self.count = len(self.members)


def usable_operations(node: nodes.Node, rules: Rules) -> bool:
    """True if devices whose node operations are optional can be used."""
    if rules.variant != "experimental" or not rules.knows_operations:
        return True
    return rules.optional_operations and nodes.declares(node, OPTIONAL_OPERATIONS)


def domains(plan: Plan, view: View, node: nodes.Node, state: State) -> list[Domain]:
    """One domain per option of a plan, by the options' numbers.

    Raises:
        Fatal: the scheduler aborts before it searches.
    """
    rules = state.rules
    made = [Domain(option, view, node, rules) for option in plan.options]
    if rules.spares_full and rules.sharing:
        for one in made:
            one.members = [
                place for place in one.members if _has_room(one.option, view, place, state)
            ]
            one.count = len(one.members) if one.option.every else one.count
    if not plan.simple:
        _limit(plan, made)
    return made


def _has_room(option: Option, view: View, place: int, state: State) -> bool:
    """True if a device has enough capacity beside what is consumed of it in the cluster."""
    part = view.part(place)
    inner = place - part.offset
    stored = state.consumed(part.slice.key, part.layout.name(inner)) or {}
    cost = price_of(option, part.layout, inner, state.rules)
    return all(
        amount + stored.get(name, 0) <= cost.limits[name] for name, amount in cost.amounts.items()
    )


def _limit(plan: Plan, made: list[Domain]) -> None:
    least = 0
    claim = -1
    for unit in plan.units:
        if unit.claim != claim:
            claim, least = unit.claim, 0
        wanted = min(made[option.number].count for option in unit.options)
        if wanted > RESULTS_MAX - least:
            raise Fatal(f"request {unit.name}: {wanted} devices on top of {least} are too many")
        least += wanted

"""Devices by what constraints and counters make of them, for bounds on what can fit."""

from __future__ import annotations

import itertools
from typing import Any
from typing import Final

from pytest_dra.allocator import attributes
from pytest_dra.allocator.constraints import Constraint
from pytest_dra.allocator.domains import Domain
from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.pools import Pool
from pytest_dra.allocator.pools import PoolKey
from pytest_dra.allocator.problem import Problem
from pytest_dra.allocator.problem import is_single

_COSTS_MAX: Final = 1024
"""Devices of a request whose counters are added up."""

Counter = tuple[PoolKey, tuple[str, str]]
"""A counter of a pool."""


def elements(constraint: Constraint, value: Any) -> list[Any]:
    """What of a value may be in common with another one."""
    if not constraint.lists:
        return [value]
    return [(value[0], one) for one in value[1]]


class Tables:
    """Tables of one problem, made when they are first asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._values: dict[Any, dict[Any, int] | None] = {}
        self._costs: dict[int, dict[Counter, list[int]]] = {}
        self.pools: dict[PoolKey, Pool] = {}

    def values(self, domain: Domain, constraint: Constraint) -> dict[Any, int] | None:
        """Devices of a domain by the element of their value; None if that tells nothing."""
        key = (domain.option.number, id(constraint))
        if key not in self._values:
            self._values[key] = self._by_value(domain, constraint)
        return self._values[key]

    def _by_value(self, domain: Domain, constraint: Constraint) -> dict[Any, int] | None:
        found: dict[Any, int] = {}
        for place in ordered(domain.usable):
            value = self._problem.value(domain.option, constraint, place)
            if value is attributes.ABSENT or value is None:
                continue
            if not is_single(value, constraint):
                return None
            for element in elements(constraint, value):
                found[element] = found.get(element, 0) | 1 << place
        return found

    def costs(self, domain: Domain) -> dict[Counter, list[int]]:
        """For each counter what the cheapest 0, 1, 2 ... devices of a domain take of it.

        A device that can be shared may cost nothing.
        """
        known = self._costs.get(domain.option.number)
        if known is None:
            known = self._costs[domain.option.number] = self._cheapest(domain)
        return known

    def _cheapest(self, domain: Domain) -> dict[Counter, list[int]]:
        view = self._problem.view
        counted = domain.usable & view.consumers & ~view.shareable
        count = domain.usable.bit_count()
        if domain.option.every:
            count = domain.count
            counted &= sum(1 << place for place in domain.members)
        if not counted or count > _COSTS_MAX:
            return {}
        amounts: dict[Counter, list[int]] = {}
        for place in ordered(counted):
            part = view.part(place)
            self.pools[part.pool.key] = part.pool
            for key, amount in part.layout.consumption(place - part.offset).items():
                amounts.setdefault((part.pool.key, key), []).append(amount)
        return {
            key: [0, *itertools.accumulate(sorted([0] * (count - len(found)) + found))]
            for key, found in amounts.items()
            if count - len(found) < domain.count
        }

"""Shares of devices: which have room for one more, and which can have only one more."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.matching import price_of
from pytest_dra.allocator.problem import Problem
from pytest_dra.allocator.requests import Option


class Rooms:
    """What is left of the capacities of devices that can be shared."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def roomy(self, option: Option, scan: int) -> int:
        """The devices of a set that have room for a share of an option."""
        for place in ordered(scan & self._problem.view.shareable):
            if any(amount > left for amount, left in self._amounts(option, place)):
                scan ^= 1 << place
        return scan

    def loose(self, option: Option, scan: int) -> int:
        """Devices of which two shares might fit, as far as shares like this one are concerned.

        Of the others a share takes more than half of what is left of the first capacity, so that
        no two requests that are like this one can be on one device.
        """
        found = 0
        for place in ordered(scan & self._problem.view.shareable):
            amount, left = next(self._amounts(option, place), (0, 0))
            if 2 * amount <= left:
                found |= 1 << place
        return found

    def _amounts(self, option: Option, place: int) -> Iterator[tuple[int, int]]:
        """What a share takes of each capacity, by name, and what is left of it."""
        problem = self._problem
        part = problem.view.part(place)
        cost = price_of(option, part.layout, place - part.offset, problem.rules)
        stored = problem.stored(place) or {}
        held = problem.shares.get(place) or {}
        for name in sorted(cost.amounts):
            left = cost.limits[name] - stored.get(name, 0) - held.get(name, 0)
            yield cost.amounts[name], left

"""What requests need of shared counters together at least, if each device is taken once.

Sets of devices that can serve requests, one each, form a matroid: the cheapest set is found by
taking the cheapest device that still leaves everybody else served. Several counters of a pool are
weighed against each other as one, each by what is left of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.pools import Pool
from pytest_dra.allocator.problem import Problem

Slot = tuple[int, int]
"""A set of devices, and how many of them are wanted."""

_DEVICES_MAX: Final = 512
"""Devices with counters up to which they are weighed."""

_SCALE: Final = 10**40
"""Weights are whole numbers; this is more than any amount that a counter has."""


class Prices:
    """Devices of a problem by what they take of their pools' counters."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._pools: dict[tuple[str, str], Pool] = {}
        self._amounts: dict[tuple[str, str], dict[int, Mapping[tuple[str, str], int]]] = {}
        view = problem.view
        if view.consumers.bit_count() <= _DEVICES_MAX:
            for place in ordered(view.consumers):
                part = view.part(place)
                amounts = part.layout.consumption(place - part.offset)
                self._pools[part.pool.key] = part.pool
                self._amounts.setdefault(part.pool.key, {})[place] = amounts

    def exceeded(self, whole: Sequence[Slot], others: Sequence[Slot]) -> bool:
        """True if what is left of some counter is not enough for all slots.

        Those that are ``whole`` have no device in common. Of the others one at a time is looked
        at, since what one has paid for serves the others, too.
        """
        shareable = self._problem.view.shareable
        alone = [one for one in whole if not one[0] & shareable]
        groups = [list(whole), *([one, *alone] for one in others)]
        return any(
            self._exceeded(key, pool, group)
            for key, pool in self._pools.items()
            for group in groups
        )

    def _exceeded(self, key: tuple[str, str], pool: Pool, slots: Sequence[Slot]) -> bool:
        wanted = 0
        for devices, _ in slots:
            wanted |= devices
        left = self._problem.booking.left(pool)
        amounts = {
            place: taken
            for place, taken in self._amounts[key].items()
            if wanted >> place & 1 and place not in self._problem.sharers
        }
        if not amounts:
            return False
        free = [place for place in ordered(wanted) if place not in amounts]
        counters = sorted({one for taken in amounts.values() for one in taken if one in left})
        for counter in counters:
            prices = {place: taken.get(counter, 0) for place, taken in amounts.items()}
            if dearer(slots, free, prices, left[counter]):
                return True
        if len(counters) < 2 or any(left[one] <= 0 for one in counters):
            return False
        weights = {one: _SCALE // left[one] for one in counters}
        prices = {
            place: sum(weights[one] * taken.get(one, 0) for one in counters)
            for place, taken in amounts.items()
        }
        limit = sum(weights[one] * left[one] for one in counters)
        return dearer(slots, free, prices, limit)


def dearer(
    slots: Sequence[Slot], free: Sequence[int], prices: Mapping[int, int], limit: int
) -> bool:
    """True if the cheapest devices for all slots cost more than a limit, or there are none."""
    need = sum(count for _, count in slots)
    total = 0
    serving = _Serving(slots)
    for place in (*free, *sorted(prices, key=lambda one: (prices[one], one))):
        price = prices.get(place, 0)
        if price and total + need * price > limit:
            return True
        if serving.take(place):
            total += price
            need -= 1
            if not need:
                return total > limit
    return True


class _Serving:
    """Devices that serve slots, each one once."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self._sets = [devices for devices, _ in slots]
        self._room = [count for _, count in slots]
        self._held: list[list[int]] = [[] for _ in slots]

    def take(self, place: int) -> bool:
        """Take one more device, if somebody can use it and the others still are served."""
        came: dict[int, tuple[int, int]] = {}
        pending: list[int] = []
        for number, devices in enumerate(self._sets):
            if devices >> place & 1:
                came[number] = (-1, place)
                pending.append(number)
        while pending:
            number = pending.pop()
            if self._room[number]:
                self._room[number] -= 1
                self._pass_on(number, came)
                return True
            for held in self._held[number]:
                for other, devices in enumerate(self._sets):
                    if other not in came and devices >> held & 1:
                        came[other] = (number, held)
                        pending.append(other)
        return False

    def _pass_on(self, number: int, came: Mapping[int, tuple[int, int]]) -> None:
        while number >= 0:
            before, place = came[number]
            self._held[number].append(place)
            if before >= 0:
                self._held[before].remove(place)
            number = before

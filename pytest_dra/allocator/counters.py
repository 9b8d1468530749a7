"""Shared counters and compatibility groups of pools while claims are being allocated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_dra.allocator.layouts import nanos
from pytest_dra.allocator.pools import Part
from pytest_dra.allocator.pools import Pool
from pytest_dra.allocator.pools import PoolKey
from pytest_dra.allocator.state import PoolUse
from pytest_dra.allocator.state import State

Amounts = dict[tuple[str, str], int]
Groups = tuple[bool, frozenset[str]]
"""What the devices on a counter set have in common: whether none has a group, else the groups."""


class Ledger:
    """Counters of all pools. One serves all nodes on which the same claims are tried.

    What is available in a pool is worked out when it is first asked for, and then stays, as in
    the scheduler: where nodes see different generations of a pool, the first one decides.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._available: dict[PoolKey, Amounts] = {}
        self._overdrawn: set[PoolKey] = set()
        self._common: dict[PoolKey, dict[str, Groups]] = {}

    def available(self, pool: Pool) -> Amounts:
        """What is left of each counter before this attempt, in billionths."""
        found = self._available.get(pool.key)
        if found is None:
            found = self._left(pool)
            self._available[pool.key] = found
            if any(amount < 0 for amount in found.values()):
                self._overdrawn.add(pool.key)
        return found

    def overdrawn(self, pool: Pool) -> bool:
        """True if more of some counter is in use than there is."""
        self.available(pool)
        return pool.key in self._overdrawn

    def _left(self, pool: Pool) -> Amounts:
        found = {
            (name, counter): nanos(amount)
            for name, counters in pool.sets.items()
            for counter, amount in counters.items()
        }
        for layout, place in self._allocated(pool):
            for key, amount in layout.consumption(place).items():
                if key in found:
                    found[key] -= amount
        return found

    def _allocated(self, pool: Pool) -> Iterator[tuple[Any, int]]:
        for one in (*pool.slices, *pool.others):
            use = self._state.pools.get(one.key)
            layout = one.layout
            if use is None or not layout.consumers:
                continue
            for place, device in enumerate(layout.devices):
                if device.get("consumesCounters") and self._counts(use, device):
                    yield layout, place

    def _counts(self, use: PoolUse, device: Any) -> bool:
        name = device.get("name") or ""
        return name in use.exclusive if self._state.rules.leaks else use.allocated(name)

    def common(self, pool: Pool) -> dict[str, Groups]:
        """What the allocated devices on each counter set have in common."""
        found = self._common.get(pool.key)
        if found is None:
            found = {}
            for layout, place in self._allocated(pool):
                for name, groups in declared(layout.devices[place]):
                    found[name] = joined(found.get(name), groups)
            self._common[pool.key] = found
        return found


class Booking:
    """What one search has taken of counters so far."""

    def __init__(self, ledger: Ledger, *, groups: bool) -> None:
        self._ledger = ledger
        self._groups = groups
        self._taken: dict[PoolKey, Amounts] = {}
        self._common: dict[PoolKey, dict[str, Groups]] = {}

    def left(self, pool: Pool) -> Amounts:
        """What is left of each counter of a pool."""
        taken = self._taken.get(pool.key) or {}
        available = self._ledger.available(pool)
        return {key: amount - taken.get(key, 0) for key, amount in available.items()}

    def take(self, part: Part, place: int) -> dict[str, Groups | None] | None:
        """Take what a device of a part consumes; None if there is not enough.

        What is returned goes to :meth:`give_back`.
        """
        saved = self._join(part, place) if self._groups else {}
        if saved is None:
            return None
        pool = part.pool
        available = self._ledger.available(pool)
        consumption = part.layout.consumption(place)
        taken = self._taken.setdefault(pool.key, {})
        if self._ledger.overdrawn(pool) or any(
            key in available and taken.get(key, 0) + amount > available[key]
            for key, amount in consumption.items()
        ):
            self._restore(pool, saved)
            return None
        for key, amount in consumption.items():
            taken[key] = taken.get(key, 0) + amount
        return saved

    def give_back(self, part: Part, place: int, saved: dict[str, Groups | None]) -> None:
        """Undo :meth:`take`."""
        taken = self._taken[part.pool.key]
        for key, amount in part.layout.consumption(place).items():
            taken[key] -= amount
        self._restore(part.pool, saved)

    def _join(self, part: Part, place: int) -> dict[str, Groups | None] | None:
        running = self._common.setdefault(part.pool.key, {})
        base = self._ledger.common(part.pool)
        saved: dict[str, Groups | None] = {}
        for name, groups in declared(part.layout.devices[place]):
            current = running.get(name, base.get(name))
            if not admits(current, groups):
                self._restore(part.pool, saved)
                return None
            saved.setdefault(name, running.get(name))
            running[name] = joined(current, groups)
        return saved

    def _restore(self, pool: Pool, saved: dict[str, Groups | None]) -> None:
        for name, groups in saved.items():
            if groups is None:
                del self._common[pool.key][name]
            else:
                self._common[pool.key][name] = groups


def declared(device: Any) -> list[tuple[str, frozenset[str]]]:
    """Counter sets of a device with the groups it declares on them."""
    return [
        (one.get("counterSet") or "", frozenset(one.get("compatibilityGroups") or ()))
        for one in device.get("consumesCounters") or ()
    ]


def admits(current: Groups | None, groups: frozenset[str]) -> bool:
    """True if a device with these groups may join the ones on a counter set."""
    if current is None:
        return True
    none, common = current
    return none if not groups else not none and bool(common & groups)


def joined(current: Groups | None, groups: frozenset[str]) -> Groups:
    """What is in common once a device with these groups has joined."""
    if current is None:
        return not groups, groups
    none, common = current
    return current if none or not groups else (False, common & groups)

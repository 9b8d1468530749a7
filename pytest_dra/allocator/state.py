"""Which devices of the cluster are in use, as the status of claims has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_dra.allocator.layouts import Layout
from pytest_dra.allocator.pools import PoolKey
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.rules import Rules
from pytest_dra.api.quantity import Quantity


class PoolUse:
    """What is in use of one pool, by device.

    ``exclusive`` counts allocations of whole devices, ``shares`` those of shares, ``consumed``
    holds amounts of capacity in billionths.
    """

    __slots__ = ("_masks", "consumed", "exclusive", "shares")

    def __init__(self) -> None:
        self.exclusive: dict[str, int] = {}
        self.shares: dict[str, int] = {}
        self.consumed: dict[str, dict[str, int]] = {}
        self._masks: dict[int, tuple[Layout, int]] = {}

    def mask(self, layout: Layout) -> int:
        """Devices of a layout that are in use as a whole."""
        known = self._masks.get(layout.id)
        if known is None:
            mask = 0
            for name in self.exclusive:
                mask |= layout.bits.get(name, 0)
            known = self._masks[layout.id] = layout, mask
        return known[1]

    def allocated(self, name: str) -> bool:
        """True if anything of a device is in use."""
        return name in self.exclusive or name in self.shares or name in self.consumed

    def shared(self, name: str) -> bool:
        """True if a share of a device is in use."""
        return name in self.shares or name in self.consumed

    def occupy(self, name: str, step: int) -> None:
        """Count an allocation of a whole device, or one less for a ``step`` of -1."""
        before = name in self.exclusive
        _count(self.exclusive, name, step)
        if before == (name in self.exclusive):
            return
        for number, (layout, mask) in self._masks.items():
            self._masks[number] = layout, mask ^ layout.bits.get(name, 0)

    def share(self, name: str, consumed: Mapping[str, Any] | None, step: int) -> None:
        """Count a share of a device with what it consumes, or one less."""
        _count(self.shares, name, step)
        if consumed is None:
            return
        amounts = self.consumed.setdefault(name, {})
        for capacity, amount in consumed.items():
            taken = step * Quantity.parse(amount).nanos
            amounts[capacity] = amounts.get(capacity, 0) + taken
        if name not in self.shares:
            del self.consumed[name]


def _count(counts: dict[str, int], name: str, step: int) -> None:
    left = counts.get(name, 0) + step
    if left > 0:
        counts[name] = left
    else:
        counts.pop(name, None)


class State:
    """Devices in use. Allocations are results in the API's form."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.pools: dict[PoolKey, PoolUse] = {}

    def add(self, allocation: Mapping[str, Any]) -> None:
        """Count what an allocation holds."""
        self._count(allocation, 1)

    def remove(self, allocation: Mapping[str, Any]) -> None:
        """Give back what an allocation holds."""
        self._count(allocation, -1)

    def _count(self, allocation: Mapping[str, Any], step: int) -> None:
        for result in (allocation.get("devices") or {}).get("results") or ():
            if result.get("adminAccess"):
                continue
            key = (result.get("driver") or "", result.get("pool") or "")
            use = self.pools.get(key)
            if use is None:
                use = self.pools[key] = PoolUse()
            name = result.get("device") or ""
            if self.rules.consumable and result.get("shareID") is not None:
                use.share(name, result.get("consumedCapacity"), step)
            else:
                use.occupy(name, step)

    def busy(self, view: View) -> int:
        """Devices of a view that are in use as a whole."""
        found = 0
        pools = self.pools
        for part in view.parts:
            use = pools.get(part.slice.key)
            if use is not None and use.exclusive:
                found |= use.mask(part.layout) << part.offset
        return found

    def consumed(self, key: PoolKey, name: str) -> Mapping[str, int] | None:
        """What is consumed of a device in billionths by capacity, None if nothing is."""
        use = self.pools.get(key)
        return None if use is None else use.consumed.get(name)

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
        self._masks: dict[int, int] = {}

    def mask(self, layout: Layout) -> int:
        """Devices of a layout that are in use as a whole."""
        known = self._masks.get(layout.id)
        if known is None:
            known = 0
            for name in self.exclusive:
                known |= layout.bits.get(name, 0)
            self._masks[layout.id] = known
        return known

    def allocated(self, name: str) -> bool:
        """True if anything of a device is in use."""
        return name in self.exclusive or name in self.shares or name in self.consumed

    def shared(self, name: str) -> bool:
        """True if a share of a device is in use."""
        return name in self.shares or name in self.consumed

    def occupy(self, name: str, step: int) -> None:
        """Count an allocation of a whole device, or one less for a ``step`` of -1."""
        _count(self.exclusive, name, step)
        self._masks.clear()

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

    def consuming(self, view: View) -> dict[int, Mapping[str, int]]:
        """What is consumed of the devices of a view, by their places."""
        found: dict[int, Mapping[str, int]] = {}
        for part in view.parts:
            use = self.pools.get(part.slice.key)
            if use is None or not use.consumed:
                continue
            for name, amounts in use.consumed.items():
                bit = part.layout.bits.get(name)
                if bit:
                    found[part.offset + bit.bit_length() - 1] = amounts
        return found

"""Whether what devices have in common suffices: capacity that is shared, counters, and groups.

The scheduler has counted all of it; this is the last look before hardware is given away.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from pytest_dra.api.quantity import Quantity
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.inventory import Inventory

Amounts = dict[str, Quantity]


class Room:
    """What is left of devices and counter sets beside what other claims hold."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory

    def problem(self, held: Held, others: Iterable[Held]) -> str:
        """Why a device cannot be had beside what is held already; empty if it can."""
        if held.admin:
            return ""
        taken = [other for other in others if not other.admin]
        return (
            self.of_shares(held, taken)
            or self.of_groups(held, taken)
            or self.of_counters(held, taken)
            or self.of_settings(held, taken)
        )

    def of_settings(self, held: Held, others: Iterable[Held]) -> str:
        """All shares of a device have the same mode."""
        for other in others:
            if _key(other) == _key(held) and other.config.mode != held.config.mode:
                return (
                    f"configuration: device {held.device!r} is in mode {other.config.mode}, "
                    f"which excludes {held.config.mode}"
                )
        return ""

    def of_shares(self, held: Held, others: Iterable[Held]) -> str:
        """Shares must not consume more than the device has."""
        found = self.inventory.find(held.pool, held.device)
        if found is None or not held.share_id:
            return ""
        shares = [other for other in others if (other.pool, other.device) == _key(held)]
        for name, value in (found[1].get("capacity") or {}).items():
            used = [dict(each.consumed).get(name) for each in (held, *shares)]
            if _total(text for text in used if text) > Quantity.parse(value["value"]).nanos:
                return f"not enough {name} is left of device {held.device!r}"
        return ""

    def of_groups(self, held: Held, others: Iterable[Held]) -> str:
        """Devices of one counter set must share a compatibility group."""
        for _, entries, names in self.consuming(held, others):
            if self.are_incompatible(entries):
                return f"device {held.device!r} goes with none of {names}"
        return ""

    def of_counters(self, held: Held, others: Iterable[Held]) -> str:
        """Devices must not consume more than their counter sets have."""
        for limits, entries, names in self.consuming(held, others):
            for counter, value in limits.items():
                used = (entry["counters"].get(counter, {}).get("value") for entry in entries)
                if _total(text for text in used if text) > Quantity.parse(value["value"]).nanos:
                    return f"device {held.device!r} overlaps with one of {names}"
        return ""

    def consuming(
        self, held: Held, others: Iterable[Held]
    ) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], list[str]]]:
        """By counter set of the device: its counters, what is consumed of it, and other devices."""
        found = self.inventory.find(held.pool, held.device)
        if found is None:
            return
        pool, device = found
        names = {other.device for other in others if other.pool == pool.name} - {held.device}
        rest = [entry for entry in pool.devices if entry["name"] in names]
        for each in device.get("consumesCounters") or ():
            name = each["counterSet"]
            entries = [each, *(entry for other in rest for entry in _consumed(other, name))]
            limits = next(known for known in pool.counters if known["name"] == name)["counters"]
            yield limits, entries, sorted(names)

    def are_incompatible(self, entries: list[dict[str, Any]]) -> bool:
        """True if consumptions of one set have compatibility groups, and none in common."""
        groups = [set(entry.get("compatibilityGroups") or ()) for entry in entries]
        return any(groups) and not set.intersection(*groups)


def _key(held: Held) -> tuple[str, str]:
    return held.pool, held.device


def _consumed(device: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    return (each for each in device.get("consumesCounters") or () if each["counterSet"] == name)


def _total(amounts: Iterable[str]) -> int:
    return sum(Quantity.parse(text).nanos for text in amounts)

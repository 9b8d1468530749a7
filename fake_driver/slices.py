"""What shall be published: the inventory cut into ResourceSlices."""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.inventory import Pool
from pytest_dra.fake_driver.options import Options

SPECIAL_MAX: Final = 64
"""Devices of a slice with a special one, from Kubernetes 1.35 on; before that it may be more."""

GROUPS: Final = "compatibilityGroups"
"""The field that must not be sent where its feature gate is off."""

_LISTS = frozenset({"ints", "bools", "strings", "versions"})


def is_special(device: dict[str, Any]) -> bool:
    """True for a device that lowers the limit of its slice: for what it costs to look at it."""
    attributes = (device.get("attributes") or {}).values()
    return bool(
        device.get("taints")
        or device.get("consumesCounters")
        or any(not _LISTS.isdisjoint(value) for value in attributes)
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PoolSlices:
    """The slices of one pool: ``specs`` are slice specs without ``pool.generation``."""

    driver: str
    pool: str
    specs: tuple[dict[str, Any], ...]


def without_groups(pool: PoolSlices) -> PoolSlices:
    """The slices of a pool without compatibility groups."""
    return dataclasses.replace(pool, specs=tuple(_without_groups(spec) for spec in pool.specs))


def _without_groups(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_groups(each) for key, each in value.items() if key != GROUPS}
    return [_without_groups(each) for each in value] if isinstance(value, list) else value


class Slices:
    """Makes the wanted slices of all pools."""

    def __init__(self, options: Options, inventory: Inventory) -> None:
        self.options = options
        self.inventory = inventory

    def wanted(self) -> list[PoolSlices]:
        """The slices of every pool; a pool without devices has one slice without devices."""
        return [self.of_pool(pool) for pool in self.inventory.pools]

    def of_pool(self, pool: Pool) -> PoolSlices:
        """The slices of one pool."""
        chunks = self.chunks(pool)
        count = len(chunks) + bool(pool.counters)
        specs = [self.spec(pool, devices, count=count) for devices in chunks]
        if pool.counters:
            specs.append(self.counters(pool, count=count))
        return PoolSlices(driver=self.options.driver_name, pool=pool.name, specs=tuple(specs))

    def chunks(self, pool: Pool) -> list[tuple[dict[str, Any], ...]]:
        """The devices of a pool in their order, slice by slice, as few as that allows."""
        made: list[tuple[dict[str, Any], ...]] = []
        chunk: list[dict[str, Any]] = []
        special = False
        for device in pool.devices:
            special = special or is_special(device)
            limit = min(pool.devices_per_slice, SPECIAL_MAX) if special else pool.devices_per_slice
            if len(chunk) >= limit:
                made.append(tuple(chunk))
                chunk, special = [], is_special(device)
            chunk.append(device)
        return [*made, tuple(chunk)]

    def spec(
        self, pool: Pool, devices: tuple[dict[str, Any], ...], *, count: int
    ) -> dict[str, Any]:
        """One slice of ``count``."""
        return {**self.head(pool, count=count), "devices": list(devices), **pool.fields}

    def counters(self, pool: Pool, *, count: int) -> dict[str, Any]:
        """The slice with the counter sets of a pool, which since 1.35 has no devices."""
        return {**self.head(pool, count=count), "sharedCounters": list(pool.counters)}

    def head(self, pool: Pool, *, count: int) -> dict[str, Any]:
        """What all slices of a pool have."""
        return {
            "driver": self.options.driver_name,
            "nodeName": self.options.node_name,
            "pool": {"name": pool.name, "resourceSliceCount": count},
        }

"""What shall be published: the inventory cut into ResourceSlices."""

from __future__ import annotations

import dataclasses
from typing import Any

from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.inventory import Pool
from pytest_dra.fake_driver.options import Options


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PoolSlices:
    """The slices of one pool: ``specs`` are slice specs without ``pool.generation``."""

    driver: str
    pool: str
    specs: tuple[dict[str, Any], ...]


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
        return PoolSlices(
            driver=self.options.driver_name,
            pool=pool.name,
            specs=tuple(self.spec(pool, devices, count=len(chunks)) for devices in chunks),
        )

    def chunks(self, pool: Pool) -> list[tuple[dict[str, Any], ...]]:
        """The devices of a pool, slice by slice."""
        size = pool.devices_per_slice
        starts = range(0, max(1, len(pool.devices)), size)
        return [pool.devices[start : start + size] for start in starts]

    def spec(
        self, pool: Pool, devices: tuple[dict[str, Any], ...], *, count: int
    ) -> dict[str, Any]:
        """One slice of ``count``."""
        return {
            "driver": self.options.driver_name,
            "nodeName": self.options.node_name,
            "pool": {"name": pool.name, "resourceSliceCount": count},
            "devices": list(devices),
        }

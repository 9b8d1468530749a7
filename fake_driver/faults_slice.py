"""Faults of the ResourceSlices (SLICE, and REG-003). Most of them are in an extra pool, so that the
devices of the proper pool stay usable for all other cases."""

from __future__ import annotations

import copy
import dataclasses
import re
import socket
from collections.abc import Callable
from typing import Any
from typing import Final
from typing import TypeVar

from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.inventory import Pool
from pytest_dra.fake_driver.pool_plan import PoolPlan
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices

EXTRA: Final = "-extra"
"""Ending of the extra pool's name, which begins with the node's: nodes do not share pools."""

EXTRA_DEVICES: Final = 2


class ExtraInventories(Inventories):
    """An inventory with an extra pool of devices like the first one of the proper pool."""

    slices = 1
    least = EXTRA_DEVICES

    def load(self) -> Inventory:
        inventory = super().load()
        if not inventory.devices():
            return inventory
        there = Inventories(dataclasses.replace(self.options, node_name=self.place())).load()
        model = next((device for pool in there.pools for device in pool.devices), {})
        count = max(self.least, self.slices)
        made = tuple({**copy.deepcopy(model), "name": f"extra-{n}"} for n in range(count))
        pool = Pool(
            name=f"{self.place()}{EXTRA}",
            devices=made,
            devices_per_slice=count // self.slices,
        )
        return Inventory((*inventory.pools, pool))

    def place(self) -> str:
        """The node that the extra pool is named after and its devices are for."""
        return self.options.node_name


class ExtraSlices(Slices):
    """Slices of which those of the extra pool are spoilt."""

    def of_pool(self, pool: Pool) -> PoolSlices:
        good = super().of_pool(pool)
        if not pool.name.endswith(EXTRA):
            return good
        return dataclasses.replace(
            good, specs=tuple(self.spoil(copy.deepcopy(spec)) for spec in good.specs)
        )

    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Make a slice of the extra pool wrong."""
        raise NotImplementedError


SpoiltSlices = TypeVar("SpoiltSlices", bound=type[ExtraSlices])


def in_extra_pool(
    case: str, text: str, *, slices: int = 1
) -> Callable[[SpoiltSlices], SpoiltSlices]:
    """Register spoilt slices together with the extra pool of ``slices`` slices."""

    def register(part: SpoiltSlices) -> SpoiltSlices:
        fault(case, text)(type("ExtraPool", (ExtraInventories,), {"slices": slices}))
        return fault(case, text)(part)

    return register


@in_extra_pool(
    "REG-003", "publish a second pool whose slices carry `spec.driver` = registered name + `.x`"
)
class OtherName(ExtraSlices):
    def of_pool(self, pool: Pool) -> PoolSlices:
        made = super().of_pool(pool)
        return dataclasses.replace(made, driver=made.specs[0]["driver"])

    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {**spec, "driver": f"{spec['driver']}.x"}


@fault("SLICE-001", "never create slices")
class NeverPublishes(Publisher):
    def repair(self) -> None:
        pass


@in_extra_pool("SLICE-002", "in an extra pool, set nodeName and allNodes in one slice")
class TwoWays(ExtraSlices):
    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {**spec, "allNodes": True}


def hostname() -> str:
    """The host's name as far as it can be a node's name."""
    return re.sub(r"[^a-z0-9.-]", "-", socket.gethostname().lower())


_HOSTNAME = "publish an extra pool under hostname() instead of the given node name"


@fault("SLICE-003", _HOSTNAME)
class HostInventories(ExtraInventories):
    """The pool is the host's, too: instances for several nodes on one host agree about it."""

    def place(self) -> str:
        return hostname()


@fault("SLICE-003", _HOSTNAME)
class OtherNode(ExtraSlices):
    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {**spec, "nodeName": hostname()}


@in_extra_pool(
    "SLICE-005", "publish an extra pool of 3 slices that states count 1 in each", slices=3
)
class FalseCount(ExtraSlices):
    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {**spec, "pool": {**spec["pool"], "resourceSliceCount": 1}}


@in_extra_pool(
    "SLICE-007",
    "publish an extra pool of 2 slices in which the device numbering starts anew",
    slices=2,
)
class NumbersAnew(ExtraSlices):
    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        devices = [{**device, "name": f"extra-{n}"} for n, device in enumerate(spec["devices"])]
        return {**spec, "devices": devices}


@in_extra_pool("SLICE-008", "in an extra pool, name one device `GPU_0`")
class BadName(ExtraSlices):
    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        first, *others = spec["devices"]
        return {**spec, "devices": [{**first, "name": "GPU_0"}, *others]}


@fault("SLICE-012", "do not react to deleted slices while running (edits are still reverted)")
class NeverAgain(Publisher):
    """Creates slices only until all of the pool have been there once in this process."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.complete: set[tuple[str, str]] = set()

    def plan(self, key: tuple[str, str], wanted: PoolSlices) -> PoolPlan:
        made = super().plan(key, wanted)
        if key not in self.complete or not made.missing:
            return made
        wrong = [
            (index, item)
            for index, item in made.changed
            if not self.is_right(item, wanted.specs[index])
        ]
        return dataclasses.replace(
            made, missing=(), changed=tuple(wrong), generation=self.generations[key]
        )

    def repair_pool(self, key: tuple[str, str]) -> None:
        super().repair_pool(key)
        self.complete.add(key)

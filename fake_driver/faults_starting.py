"""Faults that show when a driver starts: on other inventories, again, or beside others."""

from __future__ import annotations

import dataclasses
import random
import secrets
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import INVALID
from pytest_dra.fake_driver.apiserver import SLICES
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.faults_slice import EXTRA
from pytest_dra.fake_driver.faults_slice import ExtraInventories
from pytest_dra.fake_driver.faults_slice import ExtraSlices
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices

SUFFIX_BYTES: Final = 2


_SUFFIX = "append a random suffix to all device names at each start"


class Renamed(Inventory):
    """Takes a device by its name without the suffix, too, so that claims can be prepared."""

    def has(self, pool: str, device: str) -> bool:
        stems = {name.rpartition("-")[0] for owner, name in self.devices() if owner == pool}
        return bool({device, device.rpartition("-")[0]} & stems)


@fault("SLICE-015", _SUFFIX)
class RenamedInventories(Inventories):
    def load(self) -> Inventory:
        suffix = secrets.token_hex(SUFFIX_BYTES)
        return Renamed(
            tuple(
                dataclasses.replace(
                    pool,
                    devices=tuple(
                        {**device, "name": f"{device['name']}-{suffix}"} for device in pool.devices
                    ),
                )
                for pool in super().load().pools
            )
        )


@fault("SLICE-016", "shuffle the device list at start")
class Shuffled(Inventories):
    def load(self) -> Inventory:
        pools = []
        for pool in super().load().pools:
            devices = random.sample(pool.devices, len(pool.devices))
            pools.append(dataclasses.replace(pool, devices=tuple(devices)))
        return Inventory(tuple(pools))


@fault("SLICE-018", "raise on an empty device list")
class NeedsDevices(Slices):
    def wanted(self) -> list[PoolSlices]:
        if not self.inventory.devices():
            raise ValueError("no devices")
        return super().wanted()


_SHARED = "each node instance publishes the allNodes pool"


@fault("SLICE-021", _SHARED)
class SharedInventories(ExtraInventories):
    def place(self) -> str:
        return "shared"


@fault("SLICE-021", _SHARED)
class SharedSlices(ExtraSlices):
    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        del spec["nodeName"]
        return {**spec, "allNodes": True}


@fault("SLICE-021", _SHARED)
class WritesSharedPool(Publisher):
    """Writes the pool once in each process, whoever has written it before."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.written_here: set[str] = set()

    def is_right(self, item: dict[str, Any], spec: dict[str, Any]) -> bool:
        pool = spec["pool"]["name"]
        return super().is_right(item, spec) and (
            not pool.endswith(EXTRA) or pool in self.written_here
        )

    def create(self, index: int, spec: dict[str, Any], generation: int) -> None:
        if not spec["pool"]["name"].endswith(EXTRA):
            super().create(index, spec, generation)
            return
        # One name for all instances: who comes second finds the slice and writes it, too.
        name = f"{index:05x}-shared"
        body = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": name, "generateName": f"{name}-"},
            "spec": self.body(spec, generation),
        }
        self.written(spec, self.api.request("POST", SLICES, body=body))

    def written(self, spec: dict[str, Any], stored: dict[str, Any]) -> None:
        super().written(spec, stored)
        self.written_here.add(spec["pool"]["name"])


@fault(
    "SLICE-023",
    "at each start first try to update an existing slice with another pool name, then publish as "
    "usual",
)
class MovesPools(Publisher):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tried = False

    def find_owner(self) -> None:
        super().find_owner()
        item = next(iter(self.seen.values()), None)
        if not self.tried and item is not None:
            pool = {**item["spec"]["pool"], "name": f"{item['spec']['pool']['name']}-moved"}
            body = {**item, "spec": {**item["spec"], "pool": pool}}
            try:
                self.api.request("PUT", f"{SLICES}/{item['metadata']['name']}", body=body)
            except ApiError as error:
                if error.status != INVALID:
                    raise
        self.tried = True

"""Legal variants of what is published: V10, V14 and V17 of the catalogue."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Final

from pytest_dra.fake_driver.controller import OfNodeAlone
from pytest_dra.fake_driver.controller import SharedInventories
from pytest_dra.fake_driver.controller import SharedSlices
from pytest_dra.fake_driver.controller import WithController
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.inventory import Pool

OTHER_DOMAIN: Final = "resource.kubernetes.io"
"""Domain of the attributes that are the same for all drivers."""

TEXT_MAX: Final = 64
"""Bytes of an attribute string, the API's limit."""


class MoreAttributes(Inventories):
    """V10: attributes of every kind beside the driver's own, some of other domains."""

    def load(self) -> Inventory:
        pools = [
            dataclasses.replace(pool, devices=tuple(map(self.with_more, pool.devices)))
            for pool in super().load().pools
        ]
        return Inventory(tuple(pools))

    def with_more(self, device: dict[str, Any]) -> dict[str, Any]:
        """The device with further attributes and a capacity."""
        more = {
            f"{OTHER_DOMAIN}/pcieRoot": {"string": "pci0000:00"},
            f"{self.options.driver_name}/serial": {"string": "x" * TEXT_MAX},
            "numa": {"int": 0},
            "spare": {"bool": False},
            "firmware": {"version": "2.0.0-rc.1+build.7"},
        }
        return {
            **copy.deepcopy(device),
            "attributes": {**more, **(device.get("attributes") or {})},
            "capacity": {"example.com/lanes": {"value": "500m"}, **(device.get("capacity") or {})},
        }


class OtherPoolName(Inventories):
    """V10: a pool that is not called as its node, though each node has its own."""

    def load(self) -> Inventory:
        pools = super().load().pools
        return Inventory(
            tuple(dataclasses.replace(pool, name=f"devices.of/{pool.name}") for pool in pools)
        )


class SeveralPools(Inventories):
    """V10: two pools for each one, with half of its devices each."""

    def load(self) -> Inventory:
        made: list[Pool] = []
        for pool in super().load().pools:
            half = (len(pool.devices) + 1) // 2
            parts = (pool.devices[:half], pool.devices[half:])
            made += [
                dataclasses.replace(pool, name=f"{pool.name}/{number}", devices=devices)
                for number, devices in enumerate(parts)
            ]
        return Inventory(tuple(made))


class NoDevices(Inventories):
    """V10: a node on which the driver finds nothing; only ``--devices`` makes some up."""

    def load(self) -> Inventory:
        pools = super().load().pools
        if self.options.devices is not None:
            return Inventory(pools)
        return Inventory(tuple(dataclasses.replace(pool, devices=()) for pool in pools))


class OnSomeNodes(SharedSlices):
    """V17: a pool of devices that some nodes reach by network."""

    choice: ClassVar[Mapping[str, Any]] = {
        "nodeSelector": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
                    ]
                }
            ]
        }
    }


class WithNetworkController(WithController):
    """V17: beside the node's pools, the controller of those that belong to no node."""

    shared = OnSomeNodes


_SHARED = {"inventories": SharedInventories, "slices": OfNodeAlone}

VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V10": {"inventories": MoreAttributes},
    "V10-NAME": {"inventories": OtherPoolName},
    "V10-SEVERAL": {"inventories": SeveralPools},
    "V10-NONE": {"inventories": NoDevices},
    "V14": {**_SHARED, "publisher": WithController},
    "V17": {**_SHARED, "publisher": WithNetworkController},
}

"""Further instances of the driver under test: beside it, on large and on empty inventories.

They are started together at the first need and run to the end, so that cases which need time share
it.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable
from collections.abc import Sequence
from typing import Final

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench.claims import DECOY_DRIVER
from pytest_dra.bench.instance import Instance
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.launch import Component
from pytest_dra.profile.model import Inventory
from pytest_dra.spec import Json

MANY: Final = 130
"""Devices of the large instance: more than fit into one slice."""

FEW: Final = 3
"""Devices that the large instance is started with again."""

DEVICES: Final = "{devices}"
"""Stands for the number of devices in ``launch.inventory``."""

RANDOM_BYTES: Final = 3

NewInstance = Callable[[str, "int | None"], Instance]
"""Makes an instance from a letter and, where given, its number of devices."""


def equipped(
    components: Sequence[Component], inventory: Inventory, devices: int
) -> tuple[Component, ...]:
    """The components with ``launch.inventory`` filled in for the first one that registers."""
    number = next((n for n, each in enumerate(components) if each.registers), 0)
    one = components[number]
    arguments = tuple(each.replace(DEVICES, str(devices)) for each in inventory.arguments)
    env = {name: text.replace(DEVICES, str(devices)) for name, text in inventory.env.items()}
    changed = dataclasses.replace(one, command=(*one.command, *arguments), env={**one.env, **env})
    return (*components[:number], changed, *components[number + 1 :])


class Family:
    """See the module.

    Args:
        cluster: where the decoys go.
        new: makes an instance, not yet started.
        driver: gives the name of the driver under test.
        nodes: names of all nodes of the bench; that of a decoy is added.
        resizable: the profile gives ``launch.inventory``.
    """

    def __init__(
        self,
        cluster: Cluster,
        new: NewInstance,
        driver: Callable[[], str],
        *,
        nodes: set[str],
        resizable: bool,
    ) -> None:
        self._cluster = cluster
        self._new = new
        self._driver = driver
        self._nodes = nodes
        self._resizable = resizable
        self._members: dict[str, Instance] = {}
        self._decoys: tuple[Json, ...] = ()

    @property
    def begun(self) -> bool:
        """True once the members have been started."""
        return bool(self._members)

    @property
    def members(self) -> tuple[Instance, ...]:
        """Those that have been started."""
        return tuple(self._members.values())

    @property
    def neighbour(self) -> Instance:
        """The same driver on another node, started beside foreign slices."""
        return self._begin()["neighbour"]

    @property
    def large(self) -> Instance | None:
        """The driver with :data:`MANY` devices; None where the profile cannot say how."""
        return self._begin().get("large")

    @property
    def empty(self) -> Instance | None:
        """The driver without a device; None where the profile cannot say how."""
        return self._begin().get("empty")

    @property
    def decoys(self) -> tuple[Json, ...]:
        """Slices that are none of the neighbour's business, there before it was started."""
        self._begin()
        return self._decoys

    def _begin(self) -> dict[str, Instance]:
        if not self._members:
            driver = self._driver()
            neighbour = self._new("b", None)
            self._decoys = (
                self._decoy(DECOY_DRIVER, neighbour.node),
                self._decoy(driver, f"node-elsewhere-{secrets.token_hex(RANDOM_BYTES)}"),
            )
            self._members["neighbour"] = neighbour
            if self._resizable:
                self._members["large"] = self._new("l", MANY)
                self._members["empty"] = self._new("e", 0)
            for member in self._members.values():
                member.start()
        return self._members

    def _decoy(self, driver: str, node: str) -> Json:
        self._nodes.add(node)
        name = f"decoy-{secrets.token_hex(RANDOM_BYTES)}"
        spec = {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": f"{node}/decoy", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "decoy-0"}],
        }
        return self._cluster.admin().create(
            RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec}
        )

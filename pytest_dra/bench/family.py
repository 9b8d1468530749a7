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
from pytest_dra.timeline import ApiRequest
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

MANY: Final = 130
"""Devices of the large instance: more than fit into one slice."""

FEW: Final = 3
"""Devices that the large instance is started with again."""

DEVICES: Final = "{devices}"
"""Stands for the number of devices in ``launch.inventory``."""

RANDOM_BYTES: Final = 3

WIPE_S: Final = 2.0
"""Longest wait for the kubelet's wipe at its start."""

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
        driver: gives the name of the driver under test; None while it is unknown.
        nodes: names of all nodes of the bench; that of a decoy is added.
        resizable: the profile gives ``launch.inventory``.
    """

    def __init__(
        self,
        cluster: Cluster,
        new: NewInstance,
        driver: Callable[[], str | None],
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
        """Slices that are none of the driver's business, as far as they have been laid."""
        return self._decoys

    def begin(self) -> None:
        """Start all members, unless they have been; waits for none of them."""
        self._begin()

    def _begin(self) -> dict[str, Instance]:
        if not self._members:
            self._members["neighbour"] = self._new("b", None)
            if self._resizable:
                self._members["large"] = self._new("l", MANY)
                self._members["empty"] = self._new("e", 0)
            for name, member in self._members.items():
                if name == "neighbour":
                    self._start_beside_decoys(member)
                else:
                    member.start()
        return self._members

    def _start_beside_decoys(self, neighbour: Instance) -> None:
        """The kubelet wipes the slices of its node when it starts: only then they are made."""
        neighbour.place.make()
        neighbour.specs.start()
        neighbour.kubelet.start()
        kubelet = f"system:node:{neighbour.node}"

        def wiped() -> bool:
            return bool(
                neighbour.timeline.entries(
                    ApiRequest,
                    where=lambda event: (
                        event.identity == kubelet and event.verb == "deletecollection"
                    ),
                )
            )

        until(neighbour.timeline, wiped, Deadline.after(WIPE_S))
        self.lay_decoys(neighbour.node)
        neighbour.start_again()

    def lay_decoys(self, node: str) -> None:
        """Put slices there that are none of the driver's business on ``node``."""
        decoys = [self._decoy(DECOY_DRIVER, node)]
        driver = self._driver()
        if driver:
            elsewhere = f"node-elsewhere-{secrets.token_hex(RANDOM_BYTES)}"
            decoys.append(self._decoy(driver, elsewhere))
        self._decoys += tuple(decoys)

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

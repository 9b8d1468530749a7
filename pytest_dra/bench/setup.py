"""What a bench is built from, and how a node with a driver is made of it."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable

from pytest_dra.bench.abroad import Abroad
from pytest_dra.bench.family import equipped
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.node import Node
from pytest_dra.bench.patience import LIFTED_S
from pytest_dra.bench.patience import kubelet_settings
from pytest_dra.bench.soak import Soak
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.containers.fleet import Fleet
from pytest_dra.launch import Component
from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from pytest_dra.profile import DriverProfile
from pytest_dra.timeline import Timeline

RANDOM_BYTES = 3
"""Random part of names: apart from those of another run on one cluster."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a bench is built from.

    ``jailed``: drivers run in private file systems. ``previous``: the components with the driver's
    previous release. ``in_memory``: drivers keep their files small.
    ``registry_bytes``: so long is the path of the registry at least.
    ``patient``: deadlines are lifted. ``makes``: an instance, from its arguments.
    ``soak``: whether cases do more than usual. ``replay``: histories to play instead.
    ``abroad``: looks for what drivers make outside their directories. ``fleet``: drivers run in
    its containers.
    """

    cluster: Cluster
    keeper: Keeper
    timeline: Timeline
    profile: DriverProfile
    components: tuple[Component, ...]
    driver_name: str | None
    cdi_library: str
    jailed: bool = False
    previous: tuple[Component, ...] = ()
    registry_bytes: int = 0
    in_memory: bool = False
    patient: bool = False
    soak: Soak = dataclasses.field(default_factory=Soak)
    replay: tuple[str, ...] = ()
    abroad: Abroad | None = None
    fleet: Fleet | None = None
    makes: Callable[..., Instance] = Instance

    @property
    def confined(self) -> bool:
        """True if drivers see other directories than the host's at the usual paths."""
        return self.jailed or self.fleet is not None

    def instance(self, letter: str, *, nodes: set[str], devices: int | None = None) -> Instance:
        """A driver on a node and directories of its own, not yet started.

        ``devices``: how many it shall find, where ``launch.inventory`` can say so.
        The node's name cannot be the host's, so that a driver that asks the host is found out.
        """
        if self.fleet is not None:
            self.fleet.promise(self.keeper)
        name = f"{letter}-{secrets.token_hex(RANDOM_BYTES)}"
        node = Node(
            f"node-{name}",
            cluster=self.cluster,
            directories=NodeDirectories.make(
                self.keeper, in_memory=self.in_memory, registry_bytes=self.registry_bytes
            ),
            jailed=self.jailed,
            writable=self.profile.launch.writable,
            reads_boot_id=self.profile.driver.reads_boot_id,
            in_cluster=self.profile.launch.in_cluster,
            trees=self.profile.launch.trees,
            abroad=self.abroad,
            fleet=self.fleet,
        )
        return self.makes(
            name=name,
            node=node,
            cluster=self.cluster,
            keeper=self.keeper,
            components=self.equipped(devices),
            driver_name=self.driver_name,
            budgets=self.profile.budgets,
            cdi_library=self.cdi_library,
            timeline=self.timeline,
            nodes=nodes,
            settings=kubelet_settings(patient=self.patient),
        )

    def within(self, limit_s: float) -> float:
        """A deadline of the catalogue for repairs, in seconds; the profile may shorten it."""
        return LIFTED_S if self.patient else min(limit_s, self.profile.budgets.repair)

    def equipped(self, devices: int | None) -> tuple[Component, ...]:
        """The components; with this number of devices where ``launch.inventory`` can say so."""
        inventory = self.profile.launch.inventory
        if devices is None or inventory is None:
            return self.components
        return equipped(self.components, inventory, devices)

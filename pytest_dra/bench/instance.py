"""One driver on one node: its processes, its directories, its kubelet."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pytest_dra import cdi
from pytest_dra.api.names import driver_name_error
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench import abroad
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.devices import Device
from pytest_dra.bench.devices import devices_of
from pytest_dra.bench.devices import published_on
from pytest_dra.bench.node import Node
from pytest_dra.bench.obituary import add_condition
from pytest_dra.bench.obituary import obituary_of
from pytest_dra.bench.preparation import Preparation
from pytest_dra.bench.publishing import DELETIONS
from pytest_dra.bench.publishing import WRITES
from pytest_dra.bench.publishing import slices_of
from pytest_dra.bench.residue import Tree
from pytest_dra.bench.specs import Specs
from pytest_dra.checks.prepare import PREPARE
from pytest_dra.checks.prepare import UNPREPARE
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.kubelet import Kubelet
from pytest_dra.kubelet import KubeletSettings
from pytest_dra.kubelet import Plugin
from pytest_dra.launch import Component
from pytest_dra.launch import Driver
from pytest_dra.launch import Keeper
from pytest_dra.profile import Budgets
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import quiet
from pytest_dra.waiting import until
from pytest_dra.wire.answers import NodeReply

SETTLE_S = 5.0
"""Publishing has settled after this long without a slice write (term of the catalogue)."""

SETTLE_LIMIT_S = 60.0
"""Longest wait for that, from the start of the driver's process."""

STOP_S = 10.0
"""A driver that has not ended this long after SIGTERM is killed (a pod has 30 s by default)."""

IMPATIENT_S = 5.0
"""Deadline of further calls of a method that was once not answered in the kubelet's 45 s: a driver
that never answers is found out once, and not again by each case."""

END_NOTED_S = 0.3
"""From the loss of a connection to the news that the driver's process has ended."""


class Instance:
    """A driver process (or several) with everything that a node has around it.

    Args:
        name: short, a DNS label; names the instance on the timeline.
        node: where it runs.
        cluster: where it publishes.
        keeper: starts and ends its processes.
        components: what to start.
        driver_name: expected name, or None to take what it registers.
        budgets: deadlines of the driver's profile.
        cdi_library: version of the library that the node's container runtime reads specs with.
        nodes: names of all nodes of the bench; this one's is added.
        settings: the kubelet's time constants.
    """

    launches: ClassVar[type[Driver]] = Driver

    def __init__(
        self,
        *,
        name: str,
        node: Node,
        cluster: Cluster,
        keeper: Keeper,
        components: Sequence[Component],
        driver_name: str | None,
        budgets: Budgets,
        cdi_library: str,
        timeline: Timeline,
        nodes: set[str],
        settings: KubeletSettings | None = None,
    ) -> None:
        self.name = name
        self._nodes = nodes
        nodes.add(node.name)
        self.node = node.name
        self.timeline = timeline
        self.directories = node.directories
        self.budgets = budgets
        self.preparations: list[Preparation] = []
        self.specs = Specs(
            self.directories,
            library=cdi_library,
            timeline=timeline,
            instance=name,
            outside=node.outside,
        )
        self._cluster = cluster
        self.place = node
        self._expected_name = driver_name
        self.user = node.introduce(name)
        self.kubelet = Kubelet(
            registry_dir=self.directories.registry_dir,
            timeline=timeline,
            instance=name,
            kubernetes=cluster.kubernetes,
            wipe=self._wipe,
            settings=settings,
            locate=node.reached,
        )
        self._launch = functools.partial(
            self.launches,
            directories=self.directories,
            keeper=keeper,
            timeline=timeline,
            node=node.name,
            driver_name=driver_name or "",
            lodging=node.lodging,
            account=node.account,
        )
        self.driver = self._launch(components, instance=name)
        self.started_serial = 0
        self._predecessors: tuple[Plugin, ...] = ()
        self._silent: set[str] = set()

    def start(self) -> None:
        """Kubelet first, then the driver, as on a node that boots. Raises LaunchError."""
        self.place.make()
        self.specs.start()
        self.kubelet.start()
        self._start_driver()

    def _start_driver(self) -> None:
        self.started_serial = len(self.timeline)
        # What an earlier process registered is connected again as soon as somebody listens on the
        # same path, and is deregistered, with all its calls, at the kubelet's next look.
        self._predecessors = self.kubelet.plugins()
        self.timeline.add(Mark(text="driver starts", instance=self.name))
        self.directories.mend()
        if self._expected_name:
            self.directories.make_driver_dir(self._expected_name)
        self.driver.start()

    def stop(self) -> None:
        """End the driver and the kubelet; the directories stay."""
        self.driver.leave(Deadline.after(STOP_S))
        self.kubelet.stop()
        self.specs.stop()

    def end(self, *, within_s: float = STOP_S) -> bool:
        """SIGTERM, and SIGKILL where that does not help in time; the files stay.

        Returns:
            True if the driver has ended by itself.
        """
        return self.driver.terminate(Deadline.after(within_s))

    def another(self, components: Sequence[Component] | None = None) -> Driver:
        """A second driver of this node, with another pod's uid; its owner starts and ends it."""
        chosen = self.driver.components if components is None else components
        return self._launch(chosen, instance=f"{self.name}-2")

    def delete_slices_of_node(self) -> None:
        """Delete all slices of the node in one request, as a kubelet does when it starts."""
        self.place.wipe_slices(None)

    def kill(self) -> None:
        """SIGKILL the driver; its files stay, as after a crash."""
        self.driver.kill()

    def start_again(self) -> None:
        """Start the driver on the directories as they are."""
        self._start_driver()

    def reboot(self) -> None:
        """Let the node go down in order and come up again, with the driver and its own data.

        Raises:
            UnsupportedEnvironment: the driver could tell that it was none; nothing was done.
        """
        self.place.must_reboot_truly()
        with self.timeline.disturbance("reboot"):
            self.end()
            self.kubelet.reboot()
            self.place.reboot()
            self.start()

    def renew(self) -> None:
        """Begin again on empty directories, without slices of its node; other pools have others."""
        self.driver.kill()
        self.kubelet.stop()
        self.place.wipe()
        self.place.introduce(self.name)
        self.place.wipe_slices(None)
        self.start()

    @property
    def driver_name(self) -> str | None:
        """The expected name, else the registered one, else the one in its slices."""
        if self._expected_name:
            return self._expected_name
        for plugin in self.kubelet.plugins():
            return plugin.info.name
        for attempt in self.kubelet.attempts():
            info = attempt.info.info if attempt.info else None
            if info is not None and info.name:
                return info.name
        for body in self.slices_as_sent():
            driver = (body.get("spec") or {}).get("driver")
            if driver:
                return str(driver)
        return None

    def plugin(self, *, within_s: float | None = None) -> Plugin | None:
        """The plugin of the process that runs now, registered to stay and connected.

        Waits up to ``budgets.start`` (or ``within_s``) for one that registers; then it is what the
        kubelet has.
        """
        span = self.budgets.start if within_s is None else within_s
        span = span if self.driver.registers else 0.0

        def connected_or_over() -> bool:
            plugin = self._plugin_now()
            return self.over or (
                plugin is not None and plugin.client.is_connected and self.kubelet.keeps(plugin)
            )

        until(self.timeline, connected_or_over, Deadline.after(span))
        return self._plugin_now()

    @property
    def began(self) -> float:
        """When the newest process was started, on the timeline's clock."""
        return self.timeline.entries(Mark, since=self.started_serial)[0].at

    def _plugin_now(self) -> Plugin | None:
        plugin = self.kubelet.plugin(self._expected_name, Deadline.after(0.0))
        return None if plugin in self._predecessors else plugin

    @property
    def over(self) -> bool:
        """True once a process of the driver has ended: nothing is left to wait for."""
        return not self.driver.alive

    def slice_writes(self, *, since: int = 0) -> list[Entry[ApiRequest]]:
        """Create, update and patch requests of ResourceSlices by this instance, oldest first."""
        return self._on_slices(WRITES, since=since)

    def slices_as_sent(self) -> list[Json]:
        """The slices of the driver's writes, before defaulting and gate dropping, oldest first."""
        return slices_of(self.slice_writes())

    def _on_slices(self, verbs: frozenset[str], *, since: int = 0) -> list[Entry[ApiRequest]]:
        def ours(event: ApiRequest) -> bool:
            slices = event.resource == RESOURCE_SLICES.plural
            return slices and event.identity == self.user and event.verb in verbs

        return self.timeline.entries(ApiRequest, since=since, where=ours)

    def slices(self) -> list[Json]:
        """The driver's slices now, without those of the bench's other nodes."""
        name = self.driver_name
        if name is None or driver_name_error(name):
            return []
        every = self._cluster.admin().list(RESOURCE_SLICES, field_selector=f"spec.driver={name}")
        others = self._nodes - {self.node}
        return [item for item in every if item["spec"].get("nodeName") not in others]

    def wait_published(self) -> list[Json]:
        """Wait until a slice with a device is there, and each pool is whole; returns all slices.

        At most ``budgets.publish`` seconds after the start of the driver's process: then they are
        returned as they are.
        """
        left = self.began + self.budgets.publish - self.timeline.now()
        wanted = published_on(self.node, sent=self.slices_as_sent())
        return self.wait_for_slices(wanted, within_s=max(0.0, left))

    @property
    def has_published(self) -> bool:
        """True if a device was published by any process of the instance so far."""
        return any((body.get("spec") or {}).get("devices") for body in self.slices_as_sent())

    def wait_for_slices(
        self, wanted: Callable[[list[Json]], bool], *, within_s: float
    ) -> list[Json]:
        """Wait until ``wanted`` is true of the slices; returns them as they are then or at the end.

        The slices are read again after each write or deletion by the driver: waiting is cheap.
        A driver that has ended is not waited for.
        """
        deadline = Deadline.after(within_s)
        seen = -1

        def changed() -> bool:
            return self.over or len(self._on_slices(WRITES | DELETIONS)) != seen

        while True:
            over, seen = self.over, len(self._on_slices(WRITES | DELETIONS))
            slices = self.slices()
            if wanted(slices) or over or deadline.passed:
                return slices
            until(self.timeline, changed, deadline)

    def settle(self) -> bool:
        """Wait until publishing has settled; False if the driver never stops writing."""
        began = self.began

        def last_write() -> float:
            writes = self.slice_writes(since=self.started_serial)
            return writes[-1].at if writes else began

        left = max(2 * SETTLE_S, began + SETTLE_LIMIT_S - self.timeline.now())
        deadline = Deadline.after(0.0 if self.over else left)
        return quiet(self.timeline, last_write, for_s=SETTLE_S, deadline=deadline)

    def devices(self) -> list[Device]:
        """Devices of this node, plain ones first."""
        name = self.driver_name
        return devices_of(self.slices(), driver=name, node=self.node) if name else []

    def prepare(self, claims: Sequence[Claim], *, timeout_s: float | None = None) -> NodeReply:
        """One NodePrepareResources call; the CDI directories are read the moment it is answered."""
        began = len(self.timeline)
        reply = self._call(PREPARE, claims, timeout_s)
        self.preparations.append(self.specs.prepared(claims, reply, began=began))
        abroad.look(self)
        return reply

    def unprepare(self, claims: Sequence[Claim], *, timeout_s: float | None = None) -> NodeReply:
        """One NodeUnprepareResources call."""
        return self._call(UNPREPARE, claims, timeout_s)

    def is_silent(self, method: str) -> bool:
        """True if a call of Prepare or Unprepare was not answered in the kubelet's own deadline."""
        return method in self._silent

    def _call(self, method: str, claims: Sequence[Claim], timeout_s: float | None) -> NodeReply:
        refs, name = [claim.ref for claim in claims], self.driver_name or ""
        call = self.kubelet.prepare if method == PREPARE else self.kubelet.unprepare
        limit_s = IMPATIENT_S if self.is_silent(method) else timeout_s
        reply = call(name, refs, timeout_s=limit_s)
        if reply.code != "DEADLINE_EXCEEDED":
            return reply
        if self.is_silent(method):
            kubelets = self.kubelet.settings.call_s
            details = f"{reply.details} (an earlier {method} was not answered in {kubelets:g} s)"
            return dataclasses.replace(reply, details=details)
        if reply.duration_s >= self.kubelet.settings.call_s:
            self._silent.add(method)
        return reply

    def cdi(self) -> cdi.Registry:
        """The CDI directories as they are now."""
        return self.specs.registry()

    def tree(self) -> Tree:
        """Every path below the driver's data directories and the CDI directories."""
        return Tree.of_node(self.directories)

    def obituary(self) -> str:
        """How the driver ended by itself; empty while it runs."""
        return obituary_of(self.driver)

    def add_obituary(self, violation: Violation) -> None:
        """Say in the finding what has become of driver and node, which mostly explains it."""
        until(self.timeline, lambda: self.over, Deadline.after(END_NOTED_S))
        add_condition(violation, self)

    def socket_path(self, endpoint: str) -> Path:
        """The file that an endpoint of GetInfo can only mean, however it is written.

        Relative paths start in the working directory, which the driver shares with us, and a scheme
        is taken off: whether the form is right is one case's matter.
        """
        plain = endpoint.removeprefix("unix://").removeprefix("unix:")
        return self.place.outside(plain)

    def _wipe(self, driver: str | None) -> None:
        text = f"the kubelet wipes the slices of {driver or 'all drivers'}"
        self.timeline.add(Mark(text=text, instance=self.name))
        self.place.wipe_slices(driver)

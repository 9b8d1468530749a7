"""A second instance of the driver on the node of the first one, as in a rolling update."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

from pytest_dra.bench.calls import WORKING
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.obituary import obituary_of
from pytest_dra.bench.registration import accepts
from pytest_dra.bench.sockets import Socket
from pytest_dra.bench.sockets import socket_at
from pytest_dra.bench.sockets import sockets_of
from pytest_dra.checks import registration
from pytest_dra.kubelet import Plugin
from pytest_dra.kubelet.client import RegistrationClient
from pytest_dra.kubelet.watcher import scan
from pytest_dra.launch import Driver
from pytest_dra.spec import Blocked
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from pytest_dra.waiting import until
from pytest_dra.wire.answers import GetInfoReply
from pytest_dra.wire.answers import NodeReply

END_S = 10.0
"""An instance that has not ended this long after SIGTERM is killed."""

CALL_S = 45.0
"""The kubelet's deadline of a call."""

GET_INFO_S = 10.0
"""Deadline of GetInfo where lateness is not what is judged."""


@dataclasses.dataclass(frozen=True, slots=True)
class Serving:
    """One of several registered instances, called by itself instead of by the kubelet's choice."""

    plugin: Plugin
    instance: Instance

    @property
    def sockets(self) -> tuple[Socket, Socket]:
        """Its registration socket and its endpoint, as they are now."""
        return socket_at(self.plugin.socket), socket_at(self.plugin.endpoint)

    def prepare(self, claim: Claim) -> NodeReply:
        """NodePrepareResources of one claim."""
        return self.plugin.client.prepare(
            [claim.ref], service=self.plugin.service, timeout_s=CALL_S
        )

    def unprepare(self, claim: Claim) -> NodeReply:
        """NodeUnprepareResources of one claim."""
        return self.plugin.client.unprepare(
            [claim.ref], service=self.plugin.service, timeout_s=CALL_S
        )

    def get_info(self) -> GetInfoReply:
        """GetInfo on a new connection to its registration socket."""
        client = RegistrationClient(
            self.plugin.socket,
            timeline=self.instance.timeline,
            instance=self.instance.name,
            settings=self.instance.kubelet.settings,
        )
        with client:
            return client.get_info(timeout_s=GET_INFO_S)


class Successor:
    """Starts and ends the second instance; a context manager that leaves nothing of it.

    Args:
        instance: of the first one, which has to run.

    Raises:
        Blocked: the first one is not registered.
    """

    def __init__(self, instance: Instance) -> None:
        plugin = instance.plugin()
        if plugin is None:
            raise Blocked(WORKING, registration.absence())
        self.first = Serving(plugin, instance)
        self._instance = instance
        self._before = frozenset(sockets_of(instance))
        self._driver: Driver | None = None
        self._known: frozenset[Path] = frozenset()

    def start(self) -> None:
        """Start another one, with the uid of another pod."""
        registry = self._instance.directories.registry_dir
        self._known = frozenset(scan(registry, locate=self._instance.place.reached))
        self._driver = self._instance.another()
        self._driver.start()

    @property
    def over(self) -> bool:
        """True if the second instance does not run."""
        return self._driver is None or not self._driver.alive

    def appears(self) -> bool:
        """Wait for the second instance's registration socket; False if there is none in time."""
        registry, reached = self._instance.directories.registry_dir, self._instance.place.reached

        def look() -> bool:
            new = set(scan(registry, locate=reached)) - self._known
            return self.over or any(accepts(reached(path)) for path in new)

        found = poll(look, Deadline.after(self._instance.budgets.start))
        return bool(found) and not self.over

    def registered(self) -> Serving | None:
        """The second instance once it is registered and connected.

        None if that does not happen in time, if it ends, or if the first one's socket is replaced.
        """
        timeline, sockets = self._instance.timeline, self.first.sockets

        def look() -> bool:
            plugin = self._plugin()
            ready = plugin is not None and plugin.client.is_connected
            return ready or self.over or self.first.sockets != sockets

        until(timeline, look, Deadline.after(self._instance.budgets.start))
        plugin = self._plugin()
        return Serving(plugin, self._instance) if plugin is not None else None

    def _plugin(self) -> Plugin | None:
        found = self._instance.kubelet.plugins()
        return next((each for each in found if each.socket not in self._known), None)

    def kill(self) -> None:
        """SIGKILL it; its sockets stay."""
        if self._driver is not None:
            self._driver.kill()

    def obituary(self) -> str:
        """How it ended by itself, in one line; empty if it did not."""
        return obituary_of(self._driver) if self._driver is not None else ""

    def __enter__(self) -> Successor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._driver is not None:
            self._driver.terminate(Deadline.after(END_S))
        for path in set(sockets_of(self._instance)) - self._before:
            if not accepts(self._instance.place.reached(path)):
                # Of an instance that was killed: its pod is gone, and so would be its files.
                with contextlib.suppress(OSError):
                    path.unlink()

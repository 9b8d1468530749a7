"""The registration side of a running driver, seen by a patient caller.

Each property of a registration has a case of its own. So that one defect fails one case, everything
else looks at the driver through this class: it waits longer than a kubelet, tries a plainer
authority, and understands an endpoint that is written in the wrong form.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

from pytest_dra.bench.instance import Instance
from pytest_dra.kubelet.client import DraClient
from pytest_dra.kubelet.client import RegistrationClient
from pytest_dra.kubelet.connection import socket_authority
from pytest_dra.kubelet.watcher import scan
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from pytest_dra.wire.answers import GetInfoReply
from pytest_dra.wire.answers import PluginInfo

PATIENCE_S = 10.0
"""Wait for an answer where lateness is not what is judged: ten times the kubelet's deadline."""

PLAIN_AUTHORITY = "localhost"
"""An authority that every server accepts."""

CONNECT_S = 1.0
"""Wait for a connection to a local socket: the kernel answers at once or not at all."""


def accepts(path: Path) -> bool:
    """True if somebody listens on the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(CONNECT_S)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def listening(instance: Instance) -> Iterator[Path]:
    """The sockets in the registry that accept connections, as they are found."""
    registry, reached = instance.directories.registry_dir, instance.place.reached
    return (path for path in scan(registry, locate=reached) if accepts(reached(path)))


class Registration:
    """One driver process's registration, as found once it listens."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.timeline = instance.timeline
        self.socket = self._find()
        self._info: PluginInfo | Violation | None = None
        self._authority: str | None = None

    def _find(self) -> Path:
        instance = self._instance

        def look_or_end() -> Path | bool | None:
            return next(listening(instance), None) or instance.over

        found = poll(look_or_end, Deadline.after(instance.budgets.start))
        if isinstance(found, Path):
            return found
        raise Violation(
            "the plugin registry",
            got=instance.obituary() or f"no socket in {instance.budgets.start:g} s",
            want="a Unix socket that accepts connections, its name without a leading dot",
        )

    def kubelet_authority(self) -> str:
        """What the kubelet sends as ``:authority`` on the registration socket."""
        return socket_authority(self.socket)

    def client(self, *, authority: str | None = None) -> RegistrationClient:
        """A new connection, with the kubelet's authority unless another is given."""
        return RegistrationClient(
            self._instance.place.reached(self.socket),
            timeline=self.timeline,
            instance=self._instance.name,
            authority=authority,
            settings=self._instance.kubelet.settings,
        )

    def patient_client(self) -> RegistrationClient:
        """A new connection with an authority that the server is known to accept."""
        self.info()
        return self.client(authority=self._authority)

    def info(self) -> PluginInfo:
        """The answer to GetInfo, asked for once.

        Raises:
            Violation: no answer even with patience and a plain authority.
        """
        if self._info is None:
            self._info = self._ask()
        if isinstance(self._info, Violation):
            raise self._info
        return self._info

    def _ask(self) -> PluginInfo | Violation:
        reply = self._get_info(None)
        if reply.info is None and reply.code != "DEADLINE_EXCEEDED":
            plain = self._get_info(PLAIN_AUTHORITY)
            if plain.info is not None:
                self._authority = PLAIN_AUTHORITY
                return plain.info
        if reply.info is not None:
            return reply.info
        return Violation(
            f"GetInfo on {self.socket.name}",
            got=f"{reply.code}: {reply.details}",
            want="an answer",
            proof=(reply.serial,),
        )

    def _get_info(self, authority: str | None) -> GetInfoReply:
        with self.client(authority=authority) as client:
            return client.get_info(timeout_s=PATIENCE_S)

    def endpoint(self) -> Path:
        """The DRA socket that GetInfo names; the registration socket where it names none."""
        written = self.info().endpoint
        return self._instance.socket_path(written) if written else self.socket

    def dra(self) -> DraClient:
        """A connection to the DRA socket, once somebody listens there.

        Raises:
            Violation: nobody does within the start budget.
        """
        endpoint = self.endpoint()
        budget = self._instance.budgets.start
        if not poll(lambda: accepts(endpoint) or self._instance.over, Deadline.after(budget)):
            raise Violation(
                f"DRA endpoint {endpoint.name}",
                got="no connection",
                want=f"a socket that accepts connections within {budget:g} s",
            )
        client = self.dra_at_once()
        client.connected(Deadline.after(CONNECT_S))
        return client

    def dra_at_once(self) -> DraClient:
        """A client of the DRA socket that has not waited for anything."""
        return DraClient(
            self.endpoint(),
            timeline=self.timeline,
            instance=self._instance.name,
            driver=self._instance.driver_name or "",
            settings=self._instance.kubelet.settings,
        )

"""Faults of the registration with the kubelet and of the sockets (REG)."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.endpoint import Endpoint
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.registration import Registration
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

V1BETA1: Final = "v1beta1.DRAPlugin"

LATE_DRA_S: Final = 5.0
SLOW_GET_INFO_S: Final = 1.5
SLOW_NOTIFY_S: Final = 6.0
"""Delays as the texts of the faults have them."""

CONNECTIONS: Final = Path("/proc/net/unix")
CONNECTIONS_MAX: Final = 4 << 20
LOOK_S: Final = 0.05
"""Where the kernel lists connections, how much of it is read, and how often: a lost connection
offers no event in grpcio."""

_log = logging.getLogger(__name__)


@fault(
    "REG-001",
    "create the registration socket in the driver's data directory instead of the registry",
)
class SocketInDataDirectory(Endpoint):
    def registration_socket(self) -> Path:
        return self.options.data_dir / self.options.registration_socket.name


@fault("REG-013", "keep serving on the unlinked inode")
class LooksAway(Endpoint):
    def look_after(self) -> None:
        """Nothing to see."""


@fault("REG-002", "answer type `DevicePlugin`")
class OtherType(Registration):
    plugin_type = "DevicePlugin"


@fault("REG-004", "advertise only `1.0.0`")
class SemanticVersion(Registration):
    def versions(self) -> Sequence[str]:
        return ("1.0.0",)


@fault("REG-005", "serve and advertise only v1beta1")
class OnlyBeta(DraService):
    def versions(self) -> Sequence[str]:
        return (V1BETA1,)


_BETA_UNSERVED = "advertise v1 and v1beta1, register only the v1beta1 servicer"


@fault("REG-006", _BETA_UNSERVED)
class OneServicer(DraService):
    def handlers(self) -> list[grpc.GenericRpcHandler[Any, Any]]:
        return [self.handler(V1BETA1)]


@fault(
    "REG-007", "listen on the DRA socket 5 s after the first GetInfo of the process was answered"
)
class LateDra(Endpoint):
    """Only the first listening of the process is late; the endpoint is announced at once."""

    def open(self) -> None:
        self.make_room(self.dra.path)
        self.open_registration()
        threading.Thread(target=self._later, name="late-dra", daemon=True).start()

    def _later(self) -> None:
        self.registration.first_answered.wait()
        if not self.closed.wait(LATE_DRA_S):
            self.open_dra()


_LOST = (
    "close the registration server for good when the kubelet's connection to the DRA socket is lost"
)


@fault("REG-009", _LOST)
class WatchedService(DraService):
    """Notes who is connected while claims are prepared: probes with empty calls do not count."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.dra_socket = ""
        self.callers: frozenset[str] = frozenset()

    def connections(self) -> frozenset[str]:
        """Inodes of the connections to the DRA socket."""
        with CONNECTIONS.open("r", encoding="utf-8", errors="replace") as file:
            lines = file.read(CONNECTIONS_MAX).splitlines()
        mine = (line.split() for line in lines if line.endswith(f" {self.dra_socket}"))
        return frozenset(parts[6] for parts in mine if parts[5] == _CONNECTED)

    def prepare(
        self, refs: Sequence[ClaimRef], call: Call, context: grpc.ServicerContext
    ) -> Mapping[str, Answer]:
        if refs:
            self.callers = self.connections()
        return super().prepare(refs, call, context)


_CONNECTED = "03"
"""Column ``St`` of a connected socket in /proc/net/unix (SS_CONNECTED)."""


@fault("REG-009", _LOST)
class ClosesForGood(Endpoint):
    def open(self) -> None:
        super().open()
        threading.Thread(target=self._guard, name="guard", daemon=True).start()

    def _guard(self) -> None:
        service = self.service
        if not isinstance(service, WatchedService):
            return
        service.dra_socket = str(self.dra.path)
        while not self.closed.wait(LOOK_S):
            if not service.callers or service.callers & service.connections():
                continue
            if not self.registry.path.exists():
                # The kubelet has let the driver go because somebody has deleted the socket.
                service.callers = frozenset()
            else:
                _log.warning("the kubelet has gone, closing the registration")
                self.registry.close()
                return


@fault("REG-010", "bind without unlinking (EADDRINUSE), then exit")
class NoUnlink(Endpoint):
    """Old sockets are cleaned away only in the course of taking over prepared claims: without any
    (and without a CDI spec or an unfinished file of one) the address is in use."""

    def make_room(self, path: Path) -> None:
        if self._nothing_to_take_over() and path.exists():
            probe = socket.socket(socket.AF_UNIX)
            try:
                probe.bind(str(path))
            except OSError as error:
                raise StartError(f"{path}: {error.strerror}; remove it") from error
            finally:
                probe.close()
        super().make_room(path)

    def _nothing_to_take_over(self) -> bool:
        claims = self.options.data_dir / "claims"
        specs = CdiStore(self.options)
        return not (any(claims.iterdir()) or specs.files())


@fault("REG-014", "sleep 1.5 s in each GetInfo")
class SlowGetInfo(Registration):
    def get_info(self, request: Any, context: grpc.ServicerContext) -> Any:
        threading.Event().wait(SLOW_GET_INFO_S)
        return super().get_info(request, context)


@fault("REG-015", "sleep 6 s in each NotifyRegistrationStatus(true)")
class SlowNotify(Registration):
    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        if request.plugin_registered:
            threading.Event().wait(SLOW_NOTIFY_S)
        return super().notify(request, context)


@fault("REG-017", "return the endpoint relative to the driver's working directory")
class RelativeEndpoint(Registration):
    def endpoint(self) -> str:
        # By its name, so that it leads nowhere from another directory, such as the kubelet's.
        return f"../{Path.cwd().name}/{os.path.relpath(self.dra_socket)}"


@fault(
    "REG-019",
    "refuse calls on the registration socket whose `:authority` contains `%` "
    "(PROTOCOL_ERROR or an error status)",
)
class StrictAuthority(Registration):
    def get_info(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._check_authority(context)
        return super().get_info(request, context)

    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._check_authority(context)
        return super().notify(request, context)

    def _check_authority(self, context: grpc.ServicerContext) -> None:
        """Refuse an escaped authority; grpcio has no public way to it."""
        details = getattr(getattr(context, "_rpc_event", None), "call_details", None)
        if b"%" in getattr(details, "host", b""):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "malformed :authority")

"""The two sockets: first DRA, then registration, so that whoever finds us can call us at once."""

from __future__ import annotations

import contextlib
import logging
import stat
import threading
from collections.abc import Sequence
from concurrent import futures
from pathlib import Path
from typing import Any
from typing import Final

import grpc

from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.options import check_socket_path
from pytest_dra.fake_driver.registration import Registration
from pytest_dra.fake_driver.service import DraService

DRA_WORKERS: Final = 32
"""Calls that are worked on at once: a slow API server may hold many of them for a while."""

REGISTRATION_WORKERS: Final = 8
"""A kubelet makes one registration call at a time; spare ones for those that test us."""

MESSAGE_MAX: Final = 16 << 20
"""Bytes of a gRPC message: far above 32 claims of a pod, and bounded."""

REGISTRY_MODE: Final = 0o755
"""As the kubelet makes its registry."""

_log = logging.getLogger(__name__)


class Listener:
    """One gRPC server on one Unix socket, which callers find at ``path``."""

    def __init__(self, path: Path, workers: int) -> None:
        self.path = path
        self.workers = workers
        self._server: grpc.Server | None = None

    def listen(self, handlers: Sequence[grpc.GenericRpcHandler[Any, Any]]) -> None:
        """Serve ``handlers``; connections are taken once this returns. StartError if impossible."""
        server = grpc.server(
            futures.ThreadPoolExecutor(self.workers),
            options=[
                ("grpc.max_receive_message_length", MESSAGE_MAX),
                ("grpc.so_reuseport", 0),
            ],
        )
        server.add_generic_rpc_handlers(tuple(handlers))
        bound = self.bound()
        try:
            server.add_insecure_port(f"unix:{bound}")
        except RuntimeError as error:
            raise StartError(
                f"cannot listen on {bound}; look at its directory's rights ({error})"
            ) from error
        server.start()
        self._server = server
        self.show()

    def bound(self) -> Path:
        """Where the socket is made: at once where callers find it."""
        return self.path

    def show(self) -> None:
        """Let callers find a socket that was made elsewhere."""

    @property
    def listening(self) -> bool:
        """True between :meth:`listen` and :meth:`close`."""
        return self._server is not None

    def close(self, grace_s: float | None = None) -> None:
        """Take no more calls, let running ones end for ``grace_s`` seconds, remove the socket."""
        server, self._server = self._server, None
        if server is not None:
            server.stop(grace_s).wait(grace_s)
            for path in {self.path, self.bound()}:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)


class Endpoint:
    """Both listeners of the driver and the order in which they come and go."""

    def __init__(self, options: Options, service: DraService, registration: Registration) -> None:
        self.options = options
        self.service = service
        self.registration = registration
        self.closed = threading.Event()
        self.dra = Listener(options.dra_socket, DRA_WORKERS)
        self.registry = Listener(self.registration_socket(), REGISTRATION_WORKERS)

    def registration_socket(self) -> Path:
        """Where the registration socket is made."""
        return self.options.registration_socket

    def make_room(self, path: Path) -> None:
        """Remove the socket that a predecessor has left; StartError if it is something else."""
        check_socket_path(path)
        try:
            path.parent.mkdir(mode=REGISTRY_MODE, parents=True, exist_ok=True)
            if not stat.S_ISSOCK(path.lstat().st_mode):
                raise StartError(f"{path} is in the way and is no socket; remove it")
            path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StartError(f"{error.filename}: {error.strerror}; mend its rights") from error

    def open(self) -> None:
        """Serve DRA, then offer the registration socket."""
        self.open_dra()
        self.open_registration()

    def open_dra(self) -> None:
        """Serve Prepare and Unprepare."""
        self.make_room(self.dra.path)
        self.dra.listen(self.service.handlers())
        _log.info("serving DRA on %s", self.dra.path)

    def open_registration(self) -> None:
        """Let the kubelet find us."""
        self.make_room(self.registry.path)
        self.registry.listen(self.registration.handlers())
        _log.info("serving registration on %s", self.registry.path)

    def look_after(self) -> None:
        """Offer the registration socket again if somebody has removed it."""
        if self.registry.listening and not self.registry.path.exists():
            _log.warning("the registration socket was removed, making it again")
            self.registry.close()
            self.open_registration()

    def close(self, grace_s: float) -> None:
        """Leave the registry first, then stop serving."""
        self.closed.set()
        self.registry.close()
        self.dra.close(grace_s)

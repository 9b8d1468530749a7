"""The two sockets of the good driver; bad drivers change one method."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from pytest_dra.wire import DRA_METHODS
from pytest_dra.wire import GET_INFO
from pytest_dra.wire import NOTIFY_REGISTRATION_STATUS
from pytest_dra.wire import PLUGIN_TYPE
from pytest_dra.wire import Method
from tests.drivers.good.claims import ClaimError
from tests.drivers.good.claims import Claims
from tests.drivers.good.options import Options

THREADS = 8
HASH_LENGTH = 12
STOP_S = 1.0


class Plugin:
    """Serves registration and DRA until it is stopped."""

    def __init__(self, options: Options, claims: Claims) -> None:
        self.options = options
        self.claims = claims
        self.servers: list[grpc.Server] = []
        self.registered = threading.Event()

    # what is answered

    def get_info(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Who we are."""
        same = self.options.endpoint == "same"
        return GET_INFO.response(
            type=PLUGIN_TYPE,
            name=self.options.name,
            endpoint="" if same else str(self.dra_socket()),
            supported_versions=self.options.versions,
        )

    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Whether the kubelet has taken us."""
        if request.plugin_registered:
            self.registered.set()
        return NOTIFY_REGISTRATION_STATUS.response()

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        """Prepare each claim; a bad one gets an error, or ends the call where that is wanted."""
        response = method.response()
        shares = method.service.endswith("v1.DRAPlugin")
        for claim in request.claims:
            entry = response.claims[claim.uid]
            try:
                for device in self.claims.prepare(claim.namespace, claim.name, claim.uid):
                    fields = {k: v for k, v in device.items() if shares or k != "share_id"}
                    entry.devices.add(**fields)
            except ClaimError as error:
                alone = len(request.claims) == 1
                if self.options.errors == "rpc-always" or (self.options.errors == "rpc" and alone):
                    context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
                entry.error = str(error)
        return response

    def unprepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        """Release each claim."""
        response = method.response()
        for claim in request.claims:
            try:
                self.claims.unprepare(claim.uid)
                response.claims[claim.uid].error = ""
            except ClaimError as error:
                response.claims[claim.uid].error = str(error)
        return response

    # where it is served

    def dra_socket(self) -> Path:
        """The DRA socket's path."""
        if self.options.endpoint == "elsewhere":
            return self.options.plugins_dir / "elsewhere" / "x.sock"
        return self.options.driver_dir / "dra.sock"

    def registration_socket(self) -> Path:
        """The path under which the kubelet finds us."""
        registry, name = self.options.registry_dir, self.options.name
        if self.options.socket == "folder":
            return registry / "odd" / "deep" / "reg.sock"
        if self.options.socket == "hashed":
            digest = hashlib.sha256(name.encode()).hexdigest()[:HASH_LENGTH]
            return registry / f"{digest}_no-ending"
        return registry / f"{name}-reg.sock"

    def start(self) -> None:
        """DRA first, then registration."""
        dra = [
            self.handler(DRA_METHODS[name]) for name in self.options.versions if name in DRA_METHODS
        ]
        registration = self.registration_handler()
        if self.options.endpoint == "same":
            self.offer([*dra, registration])
        else:
            self.listen(self.dra_socket(), dra)
            self.offer([registration])

    def offer(self, handlers: list[Any]) -> None:
        """Let the registration socket appear in the way that was asked for."""
        path = self.registration_socket()
        path.unlink(missing_ok=True)
        if self.options.socket == "link":
            real = self.options.driver_dir / "real.sock"
            self.listen(real, handlers)
            path.symlink_to(real)
        elif self.options.socket == "renamed":
            hidden = path.with_name(".hidden.sock")
            self.listen(hidden, handlers)
            hidden.rename(path)
        else:
            self.listen(path, handlers)

    def listen(self, path: Path, handlers: list[Any]) -> None:
        """Serve on a socket, over what a predecessor has left."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        server = grpc.server(futures.ThreadPoolExecutor(THREADS), options=self.server_options())
        server.add_generic_rpc_handlers(tuple(handlers))
        server.add_insecure_port(f"unix:{path}")
        server.start()
        self.servers.append(server)

    def server_options(self) -> list[tuple[str, Any]]:
        """Options of the gRPC servers."""
        return [("grpc.so_reuseport", 0)]

    def stop(self) -> None:
        """Serve no longer."""
        for server in self.servers:
            server.stop(STOP_S).wait(STOP_S)
        self.registration_socket().unlink(missing_ok=True)

    def registration_handler(self) -> Any:
        """The handler of the Registration service."""
        return _handler({GET_INFO: self.get_info, NOTIFY_REGISTRATION_STATUS: self.notify})

    def handler(self, methods: Any) -> Any:
        """The handler of one DRAPlugin version."""
        return _handler(
            {
                methods.prepare: lambda request, context: self.prepare(
                    methods.prepare, request, context
                ),
                methods.unprepare: lambda request, context: self.unprepare(
                    methods.unprepare, request, context
                ),
            }
        )


def _handler(behaviours: dict[Method, Callable[[Any, grpc.ServicerContext], Any]]) -> Any:
    service = next(iter(behaviours)).service
    return grpc.method_handlers_generic_handler(
        service,
        {
            method.name: grpc.unary_unary_rpc_method_handler(
                behaviour,
                request_deserializer=method.request.FromString,
                response_serializer=method.response.SerializeToString,
            )
            for method, behaviour in behaviours.items()
        },
    )

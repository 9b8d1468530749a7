"""A scripted plugin: real gRPC servers on real sockets, in this process."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from pytest_dra.wire import DRA_METHODS
from pytest_dra.wire import GET_INFO
from pytest_dra.wire import HEALTH_METHODS
from pytest_dra.wire import NOTIFY_REGISTRATION_STATUS
from pytest_dra.wire import Method

Handler = Callable[[Any, grpc.ServicerContext], Any]


def _serve(socket: Path, handlers: list[tuple[Method, Handler]]) -> grpc.Server:
    server = grpc.server(futures.ThreadPoolExecutor(8))
    by_service: dict[str, dict[str, Any]] = {}
    for method, handler in handlers:
        streams = method.name == "NodeWatchResources"
        make = (
            grpc.unary_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
        )
        by_service.setdefault(method.service, {})[method.name] = make(
            handler,
            request_deserializer=method.request.FromString,
            response_serializer=lambda made: (
                made if isinstance(made, bytes) else made.SerializeToString()
            ),
        )
    for service, of_service in by_service.items():
        made = grpc.method_handlers_generic_handler(service, of_service)
        server.add_generic_rpc_handlers((made,))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    return server


def authority(context: grpc.ServicerContext) -> str:
    """What the client sent as ``:authority``; grpcio shows it nowhere in its public API."""
    host: bytes = getattr(context, "_rpc_event").call_details.host  # noqa: B009 - private, see above
    return host.decode()


@dataclasses.dataclass(kw_only=True)
class ScriptedPlugin:
    """Answers as its fields say; every field may be changed while it runs."""

    socket: Path
    endpoint: Path
    name: str = "gpu.example.com"
    type: str = "DRAPlugin"
    versions: tuple[str, ...] = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
    said_endpoint: str | None = None
    get_info_bytes: bytes | None = None
    get_info_error: bool = False
    get_info_gate: threading.Event | None = None
    notify_error: bool = False
    answer: Callable[[Method, Any, grpc.ServicerContext], Any] | None = None
    watch: Handler | None = None
    notified: list[tuple[bool, str]] = dataclasses.field(default_factory=list)
    authorities: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    infos: int = 0
    _servers: list[grpc.Server] = dataclasses.field(default_factory=list)

    def serve_registration(self) -> None:
        """Listen on the registration socket."""
        handlers: list[tuple[Method, Handler]] = [
            (GET_INFO, self._get_info),
            (NOTIFY_REGISTRATION_STATUS, self._notify),
        ]
        self._servers.append(_serve(self.socket, handlers))

    def serve_dra(self) -> grpc.Server:
        """Listen on the DRA socket, both versions."""
        handlers: list[tuple[Method, Handler]] = []
        for methods in DRA_METHODS.values():
            for method in (methods.prepare, methods.unprepare):
                handlers.append((method, self._dra_handler(method)))
        if self.watch is not None:
            handlers += [(method, self.watch) for method in HEALTH_METHODS.values()]
        server = _serve(self.endpoint, handlers)
        self._servers.append(server)
        return server

    def start(self) -> ScriptedPlugin:
        """Listen on both sockets, DRA first, as drivers do."""
        self.serve_dra()
        self.serve_registration()
        return self

    def stop(self) -> None:
        """Stop at once; gRPC unlinks the sockets."""
        if self.get_info_gate is not None:
            self.get_info_gate.set()
        for server in self._servers:
            server.stop(None).wait(5)
        self._servers.clear()

    def _get_info(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.infos += 1
        self.authorities.append(("registration", authority(context)))
        if self.get_info_gate is not None:
            self.get_info_gate.wait(10)
        if self.get_info_error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not today")
        if self.get_info_bytes is not None:
            return self.get_info_bytes
        said = str(self.endpoint) if self.said_endpoint is None else self.said_endpoint
        return GET_INFO.response(
            type=self.type, name=self.name, endpoint=said, supported_versions=self.versions
        )

    def _notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.notified.append((request.plugin_registered, request.error))
        if self.notify_error:
            context.abort(grpc.StatusCode.INTERNAL, "no wish to know")
        return NOTIFY_REGISTRATION_STATUS.response()

    def _dra_handler(self, method: Method) -> Handler:
        def handle(request: Any, context: grpc.ServicerContext) -> Any:
            self.authorities.append(("dra", authority(context)))
            if self.answer is not None:
                return self.answer(method, request, context)
            response = method.response()
            for claim in request.claims:
                answer = response.claims[claim.uid]
                if method.name == "NodePrepareResources":
                    answer.devices.add(
                        request_names=["req"],
                        pool_name="node-1",
                        device_name="gpu-0",
                        cdi_device_ids=[f"example.com/gpu={claim.uid}"],
                    )
            return response

        return handle

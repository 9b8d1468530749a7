"""The Registration service: what the kubelet asks a plugin that it has found in its registry."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc

from pytest_dra.wire import GET_INFO
from pytest_dra.wire import NOTIFY_REGISTRATION_STATUS
from pytest_dra.wire import PLUGIN_TYPE

_log = logging.getLogger(__name__)


class Registration:
    """Answers GetInfo and NotifyRegistrationStatus, any number of times."""

    plugin_type = PLUGIN_TYPE

    def __init__(self, driver: str, dra_socket: Path, versions: Sequence[str]) -> None:
        self.driver = driver
        self.dra_socket = dra_socket
        self.served = tuple(versions)
        self.first_answered = threading.Event()

    def versions(self) -> Sequence[str]:
        """What is advertised: the names of the served DRA services, newest first."""
        return self.served

    def endpoint(self) -> str:
        """Where DRA is served: an absolute path."""
        return str(self.dra_socket)

    def get_info(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Who we are."""
        context.add_callback(self.first_answered.set)
        return GET_INFO.response(
            type=self.plugin_type,
            name=self.driver,
            endpoint=self.endpoint(),
            supported_versions=self.versions(),
        )

    def notify(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Whether the kubelet has taken us."""
        if request.plugin_registered:
            _log.info("registered with the kubelet as %s", self.driver)
        else:
            _log.warning("the kubelet refused the registration: %s", request.error)
        return NOTIFY_REGISTRATION_STATUS.response()

    def handlers(self) -> list[grpc.GenericRpcHandler[Any, Any]]:
        """The gRPC handlers of the service."""
        return [
            grpc.method_handlers_generic_handler(
                GET_INFO.service,
                {
                    method.name: grpc.unary_unary_rpc_method_handler(
                        behaviour,
                        request_deserializer=method.request.FromString,
                        response_serializer=method.response.SerializeToString,
                    )
                    for method, behaviour in (
                        (GET_INFO, self.get_info),
                        (NOTIFY_REGISTRATION_STATUS, self.notify),
                    )
                },
            )
        ]

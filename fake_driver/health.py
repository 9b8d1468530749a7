"""The DRAResourceHealth services, v1 and v1alpha1: what is told of devices again and again.

A kubelet believes a report for its lease only, so that each device is reported several times in
that. The feature ``health`` switches them on; without it they are neither advertised nor served.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import ClassVar
from typing import Final

import grpc

from pytest_dra.fake_driver.features import HEALTH
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.wire import HEALTH_METHODS
from pytest_dra.wire import Method

UNKNOWN, HEALTHY, UNHEALTHY = range(3)
"""Numbers of the enum HealthStatus."""

LEASE_S: Final = 6
"""So long is a report to be believed. The kubelet's default of 30 s would do as well; a short one
shows sooner that the driver stands still."""

EVERY_S: Final = 1.0
"""Pause between two reports: several may be late on a busy machine, and the lease still goes on."""

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a report says of one device; ``lease_s`` 0: the kubelet's default."""

    pool: str
    device: str
    health: int = HEALTHY
    message: str = ""
    updated: int = 0
    lease_s: int = LEASE_S


class Health:
    """Serves the streams; each has a thread of its own."""

    every_s: ClassVar[float] = EVERY_S

    def __init__(self, options: Options, preparer: Preparer) -> None:
        self.options = options
        self.preparer = preparer
        self._lock = threading.Lock()
        self._open: set[threading.Event] = set()
        self._closed = False

    def served(self) -> Sequence[str]:
        """The versions that are served, by the names that a driver advertises."""
        return tuple(HEALTH_METHODS) if HEALTH in self.options.features else ()

    def advertised(self) -> Sequence[str]:
        """The versions that the kubelet is told of."""
        return self.served()

    def handlers(self) -> list[grpc.GenericRpcHandler[Any, Any]]:
        """The gRPC handlers of all served versions."""
        return [self.handler(HEALTH_METHODS[name]) for name in self.served()]

    def handler(self, method: Method) -> grpc.GenericRpcHandler[Any, Any]:
        """The gRPC handler of one version."""

        def watch(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            return self.watch(method, context)

        behaviour = grpc.unary_stream_rpc_method_handler(
            watch,
            request_deserializer=method.request.FromString,
            response_serializer=method.response.SerializeToString,
        )
        return grpc.method_handlers_generic_handler(method.service, {method.name: behaviour})

    def watch(self, method: Method, context: grpc.ServicerContext) -> Iterator[Any]:
        """The messages of one stream, until the caller or the driver goes away."""
        over = threading.Event()
        with self._lock:
            if self._closed:
                return
            self._open.add(over)
        try:
            if context.add_callback(over.set):
                yield from self.messages(method, context, over)
        finally:
            with self._lock:
                self._open.discard(over)

    def messages(
        self, method: Method, context: grpc.ServicerContext, over: threading.Event
    ) -> Iterator[Any]:
        """A full report at once, and then again and again, until ``over`` is set."""
        while not over.is_set():
            yield self.message(method, self.report())
            over.wait(self.every_s)

    def report(self) -> list[Told]:
        """What is known of all devices at this moment."""
        faulty, now = self.options.faulty(), int(time.time())
        return [
            Told(
                pool=pool,
                device=device,
                health=UNHEALTHY if device in faulty else HEALTHY,
                message="does not answer" if device in faulty else "41 °C",
                updated=now,
            )
            for pool, device in self.preparer.inventory.devices()
        ]

    def message(self, method: Method, told: Sequence[Told]) -> Any:
        """A report as the service has it."""
        made = method.response()
        for each in told:
            entry = made.devices.add(
                health=each.health,
                message=each.message,
                last_updated_time=each.updated,
                health_check_timeout_seconds=each.lease_s,
            )
            entry.device.pool_name = each.pool
            entry.device.device_name = each.device
        return made

    def close(self) -> None:
        """End all streams."""
        with self._lock:
            self._closed = True
            for over in self._open:
                over.set()

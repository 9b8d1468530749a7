"""The health stream of one plugin: which service is watched, and when it is opened again."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from typing import Protocol

from pytest_dra.kubelet.answers import bounded
from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.client import DraClient
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.kubelet.settings import release
from pytest_dra.spec import Json
from pytest_dra.timeline import HealthReport
from pytest_dra.timeline import StreamEvent
from pytest_dra.timeline import Timeline
from pytest_dra.wire import HEALTH_METHODS

HEALTH_SINCE = (1, 36)
"""First kubelet that watches health by default (gate ResourceHealthStatus)."""

ADVERTISED_SINCE = (1, 37)
"""From here on only an advertised service is watched, v1 before v1alpha1, and never again after
UNIMPLEMENTED; before, v1alpha1 was tried on every plugin."""

UNADVERTISED = "v1alpha1.DRAResourceHealth"
"""What kubelets before ``ADVERTISED_SINCE`` try, whatever is advertised."""

HEALTH_PREFERENCE = ("v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth")
"""Order of preference, whatever the order of the plugin's list (recording health-versions)."""

MAX_REPORTS = 1000
"""Reports of one plugin that are written down: at one a second a quarter of an hour, and a driver
that reports without pause cannot fill the memory. Later ones are read and dropped."""


def health_service(kubernetes: str, supported_versions: Sequence[str]) -> str | None:
    """The health service that a kubelet of this version watches; None if none."""
    version = release(kubernetes)
    if version < HEALTH_SINCE:
        return None
    if version < ADVERTISED_SINCE:
        return UNADVERTISED
    return next((name for name in HEALTH_PREFERENCE if name in supported_versions), None)


class HealthSink(Protocol):
    """Whoever acts by what drivers report."""

    def reported(self, driver: str, devices: Sequence[Json]) -> None:
        """A report, with the proto field names."""

    def unwatched(self, driver: str) -> None:
        """The stream has ended."""


class HealthWatch:
    """Keeps the health stream of one plugin open, from its registration to ``close``.

    Args:
        service: a key of ``HEALTH_METHODS``.
        gives_up: UNIMPLEMENTED ends it for good.
        sink: is told of reports and ends; None: nobody acts by them.
    """

    def __init__(
        self,
        client: DraClient,
        service: str,
        *,
        timeline: Timeline,
        instance: str,
        settings: KubeletSettings,
        clock: Clock,
        gives_up: bool,
        sink: HealthSink | None = None,
    ) -> None:
        self._sink = sink
        self._client = client
        self._service = service
        self._timeline = timeline
        self._instance = instance
        self._settings = settings
        self._clock = clock
        self._gives_up = gives_up
        self._reports = 0
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="kubelet-health", daemon=True)

    def start(self) -> None:
        """Open the stream; called once."""
        self._thread.start()

    def close(self) -> None:
        """Open no further stream. One that runs ends with the connection of the client."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        method = HEALTH_METHODS[self._service]
        while not self._closed:
            self._note("opened")
            outcome = self._client.watch(method, self._report)
            self._note("ended", code=outcome.code, details=outcome.details)
            if self._sink is not None:
                self._sink.unwatched(self._client.driver)
            if self._gives_up and outcome.code == "UNIMPLEMENTED":
                return
            self._pause()

    def _pause(self) -> None:
        end = self._clock.now() + self._settings.health_pause_s
        with self._changed:
            while not self._closed:
                left = end - self._clock.now()
                if left <= 0:
                    return
                self._clock.wait(self._changed, left)

    def _note(self, action: str, *, code: str = "", details: str = "") -> None:
        self._timeline.add(
            StreamEvent(
                instance=self._instance,
                driver=bounded_text(self._client.driver),
                service=self._service,
                action=action,
                code=code,
                details=details,
            )
        )

    def _report(self, message: Any) -> None:
        if self._sink is not None:
            devices = [_device_json(device) for device in message.devices]
            self._sink.reported(self._client.driver, devices)
        self._reports += 1
        if self._reports == MAX_REPORTS + 1:
            self._note("full")
        if self._reports > MAX_REPORTS:
            return
        kept, _ = bounded({"devices": [_device_json(device) for device in message.devices]})
        self._timeline.add(
            HealthReport(
                instance=self._instance,
                driver=bounded_text(self._client.driver),
                service=self._service,
                devices=tuple(kept["devices"]),
                left_out=len(message.devices) - len(kept["devices"]),
            )
        )


def _device_json(device: Any) -> Json:
    return {
        "pool_name": device.device.pool_name,
        "device_name": device.device.device_name,
        "health": device.health,
        "last_updated_time": device.last_updated_time,
        "health_check_timeout_seconds": device.health_check_timeout_seconds,
        "message": device.message,
    }

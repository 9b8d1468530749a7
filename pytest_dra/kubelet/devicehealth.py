"""The health of devices as a kubelet knows it, and how it shows it in the status of pods.

Source: pkg/kubelet/cm/dra of kubelet 1.37, read, and the recordings ``health-*``.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable
from collections.abc import Iterator

from pytest_dra.kubelet.checkpoint import Checkpoint
from pytest_dra.kubelet.checkpoint import KeptClaim
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.podhost import ClaimUse
from pytest_dra.kubelet.podhost import Pod
from pytest_dra.kubelet.podhost import ResourceHealth
from pytest_dra.kubelet.podhost import ResourceStatus
from pytest_dra.spec import Json

UNKNOWN = "Unknown"
HEALTH_TEXTS = {1: "Healthy", 2: "Unhealthy"}
"""Values of the enum and their text; every other one is ``UNKNOWN``."""

LEASE_S = 30.0
"""How long a report counts whose device names no timeout, or none that is positive."""

MAX_DEVICES = 16384
"""Devices of one driver that are remembered."""

MESSAGE_BYTES = 1024
"""Longest message in the status of a pod."""

CUT = "..."
"""Ends a message that was longer. The kubelet cuts bytes: half a character becomes a longer one,
and then the API server refuses the status (recording health-limits)."""

Key = tuple[str, str]
"""Pool and device."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    health: str
    message: str
    lease_s: float
    at: float

    def same(self, other: _Known | None) -> bool:
        return other is not None and dataclasses.replace(other, at=self.at) == self


class DeviceHealth:
    """What the streams of all drivers have reported. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, dict[Key, _Known]] = {}

    def report(self, driver: str, devices: Iterable[Json]) -> set[Key]:
        """Take one report, with the proto field names; the devices that it has changed."""
        now = self._clock.now()
        changed: set[Key] = set()
        with self._lock:
            known = self._known.setdefault(driver, {})
            reported = set()
            for device in devices:
                key = (device["pool_name"], device["device_name"])
                reported.add(key)
                if key not in known and len(known) >= MAX_DEVICES:
                    continue
                fresh = _taken(device, now)
                if not fresh.same(known.get(key)):
                    changed.add(key)
                known[key] = fresh
            for key in [key for key in known if key not in reported]:
                if now - known[key].at > known[key].lease_s:
                    if known[key].health != UNKNOWN:
                        changed.add(key)
                    del known[key]
        return changed

    def clear(self, driver: str) -> None:
        """The stream of a driver has ended: nothing is known of its devices."""
        with self._lock:
            self._known.pop(driver, None)

    def of(self, driver: str, key: Key) -> tuple[str, str]:
        """Health and message of a device; unknown where no report counts any more."""
        with self._lock:
            known = self._known.get(driver, {}).get(key)
        if known is None or self._clock.now() - known.at > known.lease_s:
            return UNKNOWN, ""
        return known.health, known.message


def _taken(device: Json, now: float) -> _Known:
    timeout = float(device["health_check_timeout_seconds"])
    return _Known(
        health=HEALTH_TEXTS.get(device["health"], UNKNOWN),
        message=cut_message(device["message"]),
        lease_s=timeout if timeout > 0 else LEASE_S,
        at=now,
    )


def cut_message(message: str) -> str:
    """A message as the kubelet shortens it, bytes in the middle of a character replaced."""
    raw = message.encode()
    if len(raw) <= MESSAGE_BYTES:
        return message
    return raw[: MESSAGE_BYTES - len(CUT)].decode(errors="replace") + CUT


def users_of(kept: Checkpoint, driver: str, keys: set[Key]) -> set[str]:
    """The uids of the pods that use one of some devices of a driver."""
    return {
        uid
        for claim in kept.claims()
        for device in claim.drivers.get(driver) or ()
        if (device.pool_name, device.device_name) in keys
        for uid in claim.pods
    }


def statuses(pod: Pod, kept: Checkpoint, health: DeviceHealth) -> tuple[ResourceStatus, ...]:
    """The ``allocatedResourcesStatus`` of all containers, empty entries left out."""
    names = {claim.entry: claim.name for claim in pod.claims}
    found = []
    for container, uses in pod.uses:
        for use in uses:
            claim = kept.get(pod.namespace, names.get(use.entry, ""))
            if claim is None:
                continue
            name = f"claim:{use.entry}/{use.request}" if use.request else f"claim:{use.entry}"
            resources: dict[str, ResourceHealth] = {}
            for each in _resources(claim, use, health):
                resources.setdefault(each.resource_id, each)
            if resources:
                found.append(ResourceStatus(container, name, tuple(resources.values())))
    return tuple(found)


def _resources(kept: KeptClaim, use: ClaimUse, health: DeviceHealth) -> Iterator[ResourceHealth]:
    request = use.request.partition("/")[0]
    for driver, devices in kept.drivers.items():
        for device in devices or ():
            if request and device.request_names and request not in device.request_names:
                continue
            state, message = health.of(driver, (device.pool_name, device.device_name))
            usual = f"{driver}/{device.pool_name}/{device.device_name}"
            yield ResourceHealth(next(iter(device.cdi_device_ids), usual), state, message or None)

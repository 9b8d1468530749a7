"""What a kubelet keeps of its claims, in memory and in a file of the kubelet's own form.

Source: pkg/kubelet/cm/dra/state and checkpointmanager of kubelet 1.34 to 1.37, and the recordings
``restart-shared``, ``podresources-and-checkpoint`` and ``down-state-*``.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import zlib
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_dra.kubelet.answers import ClaimRef
from pytest_dra.kubelet.answers import PreparedDevice
from pytest_dra.spec import Json

KIND = "DRACheckpoint"
API_VERSION = "checkpoint.dra.kubelet.k8s.io/v1"

MAX_BYTES = 64 << 20
"""Longest file that is read: thousands of claims with all their devices."""

Devices = tuple[PreparedDevice, ...]


class CheckpointError(Exception):
    """The file is not what a kubelet wrote; a kubelet does not start with it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KeptClaim:
    """A claim that some pod of the node uses.

    ``drivers`` has the devices of each driver, None while its Prepare has not succeeded, ``pods``
    the uids of the pods. ``prepared`` is not in the file: after a restart no claim is prepared.
    ``unpreparing``: Unprepare has been called at least once, and no pod may begin to use it.
    """

    claim: ClaimRef
    drivers: Mapping[str, Devices | None]
    pods: frozenset[str] = frozenset()
    prepared: bool = False
    unpreparing: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name, by which a kubelet knows its claims."""
        return self.claim.namespace, self.claim.name


class Checkpoint:
    """The claims of one kubelet and their file. Thread-safe.

    Args:
        path: of the file, whose directory exists; None keeps the claims in memory only.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._claims: dict[tuple[str, str], KeptClaim] = {}

    def load(self) -> None:
        """Take what the file says, no claim prepared. A missing file is an empty one.

        Without a file the claims stay, as they would in one.

        Raises:
            CheckpointError: the file is corrupt.
        """
        if self.path is None:
            claims = [
                dataclasses.replace(kept, prepared=False, unpreparing=False)
                for kept in self.claims()
            ]
        else:
            claims = _read(self.path)
        with self._lock:
            self._claims = {kept.key: kept for kept in claims}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let nobody else change anything meanwhile."""
        with self._lock:
            yield

    def get(self, namespace: str, name: str) -> KeptClaim | None:
        """The claim of this name, None if it is not known."""
        with self._lock:
            return self._claims.get((namespace, name))

    def put(self, kept: KeptClaim) -> None:
        """Take a claim as it is now; :meth:`write` has the file follow."""
        with self._lock:
            self._claims[kept.key] = kept

    def drop(self, kept: KeptClaim) -> None:
        """Forget a claim; :meth:`write` has the file follow."""
        with self._lock:
            self._claims.pop(kept.key, None)

    def claims(self) -> tuple[KeptClaim, ...]:
        """All claims, oldest first."""
        with self._lock:
            return tuple(self._claims.values())

    def of_pod(self, uid: str) -> tuple[KeptClaim, ...]:
        """The claims that a pod uses, oldest first."""
        return tuple(kept for kept in self.claims() if uid in kept.pods)

    def write(self) -> None:
        """Write the file."""
        if self.path is None:
            return
        with self._lock:
            data = json.dumps(
                {
                    "kind": KIND,
                    "apiVersion": API_VERSION,
                    "ClaimInfoStateList": [_claim_json(kept) for kept in self._claims.values()],
                }
            )
            written = json.dumps({"Data": data, "Checksum": zlib.crc32(data.encode())})
            fresh = self.path.with_name(f".{self.path.name}.tmp")
            fresh.write_text(written, encoding="utf-8")
            fresh.replace(self.path)


def _read(path: Path) -> list[KeptClaim]:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raw = b""
    try:
        return _decoded(raw) if raw else []
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path}: checkpoint is corrupted ({error}); remove it to start without the"
            " claims of the time before"
        ) from error


def _decoded(raw: bytes) -> list[KeptClaim]:
    outer = json.loads(raw[: MAX_BYTES + 1])
    data = outer["Data"]
    if zlib.crc32(data.encode()) != outer["Checksum"]:
        raise ValueError("its checksum is another one")
    inner = json.loads(data)
    if (inner["kind"], inner["apiVersion"]) != (KIND, API_VERSION):
        raise ValueError(f"it is a {inner['kind']} of {inner['apiVersion']}")
    return [_kept_claim(state) for state in inner["ClaimInfoStateList"] or ()]


def _kept_claim(state: Json) -> KeptClaim:
    drivers: dict[str, Devices | None] = {}
    for driver, of_driver in (state["DriverState"] or {}).items():
        listed = of_driver["Devices"]
        drivers[driver] = None if listed is None else tuple(map(_device, listed))
    claim = ClaimRef(state["Namespace"], state["ClaimUID"], state["ClaimName"])
    return KeptClaim(claim=claim, drivers=drivers, pods=frozenset(state["PodUIDs"] or ()))


def _device(device: Json) -> PreparedDevice:
    return PreparedDevice(
        request_names=tuple(device["RequestNames"] or ()),
        pool_name=device["PoolName"],
        device_name=device["DeviceName"],
        cdi_device_ids=tuple(device["CDIDeviceIDs"] or ()),
        share_id=device.get("ShareID"),
    )


def _claim_json(kept: KeptClaim) -> Json:
    return {
        "ClaimUID": kept.claim.uid,
        "ClaimName": kept.claim.name,
        "Namespace": kept.claim.namespace,
        "PodUIDs": {uid: {} for uid in sorted(kept.pods)},
        "DriverState": {driver: _driver_json(each) for driver, each in kept.drivers.items()},
    }


def _driver_json(devices: Devices | None) -> dict[str, Any]:
    if devices is None:
        return {"Devices": None}
    return {
        "Devices": [
            {
                "PoolName": device.pool_name,
                "DeviceName": device.device_name,
                "ShareID": device.share_id,
                "RequestNames": list(device.request_names),
                "CDIDeviceIDs": list(device.cdi_device_ids),
            }
            for device in devices
        ]
    }

"""What a kubelet keeps of its claims in a file, in the form of the kubelet's own one.

Source: pkg/kubelet/cm/dra/state and checkpointmanager of kubelet 1.34 to 1.37, and the recordings
``restart-shared``, ``podresources-and-checkpoint`` and ``down-state-*``.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import zlib
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_dra.kubelet.answers import ClaimAnswer
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
    """A claim of the checkpoint.

    ``drivers`` has the devices of each driver, None while its Prepare has not succeeded.
    ``prepared`` is not in the file: after a restart no claim is prepared.
    """

    claim: ClaimRef
    drivers: Mapping[str, Devices | None]
    prepared: bool


class Checkpoint:
    """The claims of one kubelet and their file. Thread-safe.

    Args:
        path: of the file, whose directory exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._claims: dict[str, KeptClaim] = {}

    def load(self) -> None:
        """Take what the file says, no claim prepared. A missing file is an empty one.

        Raises:
            CheckpointError: the file is corrupt.
        """
        try:
            with self.path.open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            raw = b""
        try:
            claims = _decoded(raw) if raw else []
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"{self.path}: checkpoint is corrupted ({error}); remove it to start without the"
                " claims of the time before"
            ) from error
        with self._lock:
            self._claims = {kept.claim.uid: kept for kept in claims}

    def begin(self, driver: str, claims: Sequence[ClaimRef]) -> None:
        """Prepare is about to be called."""
        with self._lock:
            for claim in claims:
                known = self._claims.get(claim.uid)
                drivers = dict(known.drivers) if known else {}
                drivers.setdefault(driver, None)
                self._claims[claim.uid] = KeptClaim(claim=claim, drivers=drivers, prepared=False)
            self._write()

    def prepared(self, driver: str, answers: Mapping[str, ClaimAnswer]) -> None:
        """Prepare has succeeded for the claims of ``answers`` (by uid)."""
        with self._lock:
            for uid, answer in answers.items():
                known = self._claims.get(uid)
                if known is not None and not answer.error:
                    drivers = {**known.drivers, driver: answer.devices}
                    done = all(devices is not None for devices in drivers.values())
                    self._claims[uid] = dataclasses.replace(known, drivers=drivers, prepared=done)
            self._write()

    def unprepared(self, driver: str, answers: Mapping[str, ClaimAnswer]) -> None:
        """Unprepare has succeeded for the claims of ``answers`` (by uid)."""
        with self._lock:
            for uid, answer in answers.items():
                known = self._claims.get(uid)
                if known is None or answer.error:
                    continue
                drivers = {name: each for name, each in known.drivers.items() if name != driver}
                if drivers:
                    self._claims[uid] = dataclasses.replace(known, drivers=drivers)
                else:
                    del self._claims[uid]
            self._write()

    def claims(self) -> tuple[KeptClaim, ...]:
        """All claims, oldest first."""
        with self._lock:
            return tuple(self._claims.values())

    def _write(self) -> None:
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
    return KeptClaim(claim=claim, drivers=drivers, prepared=False)


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
        "PodUIDs": {},
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

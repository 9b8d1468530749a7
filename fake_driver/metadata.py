"""Metadata of prepared devices: a file for each request, which containers find at a known path.

The feature ``metadata`` switches it on. A file is a stream of JSON objects, one for each version;
it lies under the claim's UID, is mounted through a CDI device of its own, and overwritten in place
when it changes: a container goes on seeing the file that was mounted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import shutil
import threading
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.cdi_store import CDI_VERSION
from pytest_dra.fake_driver.cdi_store import DIRECTORY_MODE
from pytest_dra.fake_driver.cdi_store import FILE_MODE
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.features import METADATA
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record

GROUP: Final = "metadata.resource.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha1")
"""Versions of the format, newest first; readers take the first one that they know."""

CONTAINER: Final = "/var/run/kubernetes.io/dra-device-attributes"
"""Where containers look."""

UPDATE: Final = "update-"
"""Begins the names of files in the driver's directory: the metadata of the claim with the UID
behind it is to be written again."""

LOOK_S: Final = 0.1
"""How often such files are looked for."""

_log = logging.getLogger(__name__)


class Metadata:
    """The files of all claims, and their CDI specs."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.on = METADATA in options.features
        self.root = options.data_dir / "dra-device-metadata"
        self.kind = f"{options.driver_name}/metadata"

    def open(self) -> None:
        """Make the directory; OSError if that is impossible."""
        if self.on:
            self.root.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)

    def directory(self, ref: ClaimRef) -> Path:
        """Where the claim's files are."""
        return self.root / ref.uid

    def file(self, ref: ClaimRef, request: str) -> Path:
        """The file of one request."""
        return self.directory(ref) / request / "metadata.json"

    def spec_file(self, ref: ClaimRef, request: str) -> Path:
        """The CDI spec that mounts it."""
        name = f"{self.options.driver_name}_metadata_{ref.uid}_{request}.json"
        return self.options.cdi_root / name

    def base(self, record: Record) -> str:
        """Where a container finds the claim's files: by the name that the pod has for it."""
        pod_claim = record.allocation.pod_claim
        if pod_claim:
            return f"{CONTAINER}/resourceclaimtemplates/{pod_claim}"
        return f"{CONTAINER}/resourceclaims/{record.ref.name}"

    def container_path(self, record: Record, request: str) -> str:
        """Where a container finds the file of one request."""
        return f"{self.base(record)}/{request}/{self.options.driver_name}-metadata.json"

    def write(self, record: Record, inventory: Inventory) -> None:
        """Write all files of a claim; OSError if that fails."""
        for request, held in _by_request(record).items() if self.on else ():
            path = self.file(record.ref, request)
            path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            document = self.document(record, request, held, inventory)
            files.write(path, self.encode(document), mode=FILE_MODE)
            self.options.cdi_root.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            spec = json.dumps(self.spec(record, request), indent=1).encode()
            files.write(self.spec_file(record.ref, request), spec, mode=FILE_MODE)

    def ensure(self, record: Record, inventory: Inventory) -> None:
        """Write the files of a prepared claim again if one is gone."""
        if self.on and not all(
            path.exists()
            for request in _by_request(record)
            for path in (self.file(record.ref, request), self.spec_file(record.ref, request))
        ):
            _log.warning("claim %s: its metadata was gone, writing it again", record.ref)
            self.write(record, inventory)

    def document(
        self, record: Record, request: str, held: Sequence[Held], inventory: Inventory
    ) -> dict[str, Any]:
        """What is told of one request."""
        ref = record.ref
        metadata = {"name": ref.name, "namespace": ref.namespace, "uid": ref.uid, "generation": 1}
        made: dict[str, Any] = {"kind": "DeviceMetadata", "metadata": metadata}
        if record.allocation.pod_claim:
            made["podClaimName"] = record.allocation.pod_claim
        devices = [self.device(each, inventory) for each in held]
        return {**made, "requests": [{"name": request, "devices": devices}]}

    def device(self, held: Held, inventory: Inventory) -> dict[str, Any]:
        """What is told of one device."""
        attributes = self.attributes(held, inventory)
        named = {"driver": self.options.driver_name, "pool": held.pool, "name": held.device}
        return {**named, "attributes": attributes} if attributes else named

    def attributes(self, held: Held, inventory: Inventory) -> Mapping[str, Any]:
        """The attributes of a device, as they are published."""
        found = inventory.find(held.pool, held.device)
        return found[1].get("attributes") or {} if found else {}

    def encode(self, document: Mapping[str, Any]) -> bytes:
        """The document in each version."""
        texts = (
            json.dumps({"apiVersion": f"{GROUP}/{version}", **document}, indent=1)
            for version in VERSIONS
        )
        return "".join(f"{text}\n" for text in texts).encode()

    def spec(self, record: Record, request: str) -> dict[str, Any]:
        """The CDI spec of one request."""
        mounts = self.mounts(record, request)
        device = {"name": _name(record.ref, request), "containerEdits": {"mounts": mounts}}
        return {"cdiVersion": CDI_VERSION, "kind": self.kind, "devices": [device]}

    def mounts(self, record: Record, request: str) -> list[dict[str, Any]]:
        """What a container gets."""
        return [
            {
                "hostPath": str(self.file(record.ref, request)),
                "containerPath": self.container_path(record, request),
                "options": ["ro", "bind"],
            }
        ]

    def added(self, ref: ClaimRef, devices: Sequence[Prepared]) -> tuple[Prepared, ...]:
        """An answer with the id of each request's metadata at its first device."""
        if not self.on:
            return tuple(devices)
        seen: set[str] = set()
        made = []
        for device in devices:
            new = [request for request in device.requests if request not in seen]
            seen.update(new)
            more = tuple(f"{self.kind}={_name(ref, request)}" for request in new)
            made.append(dataclasses.replace(device, cdi_ids=(*device.cdi_ids, *more)))
        return tuple(made)

    def remove(self, ref: ClaimRef) -> None:
        """Remove all files of a claim; OSError if that fails."""
        if not self.on:
            return
        for path in self.options.cdi_root.glob(f"{self.options.driver_name}_metadata_{ref.uid}_*"):
            files.remove(path)
        self.remove_files(ref)

    def remove_files(self, ref: ClaimRef) -> None:
        """Remove what containers see."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.directory(ref))

    def follow(self, stopping: threading.Event) -> None:
        """Write again what is asked for, until the driver stops."""
        while not stopping.wait(LOOK_S):
            for path in self.options.data_dir.glob(f"{UPDATE}*"):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
                    self.update(path.name.removeprefix(UPDATE))

    def update(self, uid: str) -> None:
        """Raise the generation of a claim's metadata."""
        for path in self.root.glob(f"{uid}/*/metadata.json"):
            document, _ = json.JSONDecoder().raw_decode(files.read(path).decode())
            del document["apiVersion"]
            document["metadata"]["generation"] = self.raised(document["metadata"]["generation"])
            self.overwrite(path, self.encode(document))

    def raised(self, generation: int) -> int:
        """The next generation."""
        return generation + 1

    def overwrite(self, path: Path, data: bytes) -> None:
        """Put other text into a file that containers have mounted."""
        with path.open("r+b") as file:
            file.write(data)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())


def _name(ref: ClaimRef, request: str) -> str:
    return f"{ref.uid}_{request}"


def _by_request(record: Record) -> dict[str, list[Held]]:
    found: dict[str, list[Held]] = {}
    for held in record.allocation.held:
        for request in held.requests:
            found.setdefault(request, []).append(held)
    return found

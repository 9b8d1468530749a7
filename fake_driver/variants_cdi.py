"""Legal variants of how devices get into containers: V04, V12 and V21 of the catalogue."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.cdi_store import CDI_VERSION
from pytest_dra.fake_driver.cdi_store import DIRECTORY_MODE
from pytest_dra.fake_driver.cdi_store import FILE_MODE
from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.record import edits
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

SECOND: Final = "-shared"
"""Behind the name of the device that has the second half of the edits (V04)."""

BASE: Final = "base"
"""Class and only device of the spec that is always there (V12)."""

LASTING: Final = "device"
"""Class of the devices that stay for ever (V21)."""


def every_device(options: Options) -> list[Held]:
    """All devices of the node, as a claim of unknown requests would hold them."""
    devices = Inventories(options).load().devices()
    return [Held(pool=pool, device=device, requests=()) for pool, device in devices]


class OtherIds(DraService):
    """A service that answers with other CDI ids than those of the claim's own spec."""

    def prepare_one(self, ref: ClaimRef, call: Call) -> Answer:
        answer = super().prepare_one(ref, call)
        if isinstance(answer, ClaimError):
            return answer
        return tuple(dataclasses.replace(each, cdi_ids=tuple(self.ids(each))) for each in answer)

    def ids(self, device: Prepared) -> Sequence[str]:
        """The ids of one device."""
        raise NotImplementedError


class TwoDevices(CdiStore):
    """V04: the edits of a device are those of two CDI devices."""

    def spec(self, record: Record) -> dict[str, Any]:
        made = super().spec(record)
        for device in list(made["devices"]):
            mounts = device["containerEdits"].pop("mounts")
            second = {"env": [f"FAKE_SHARED={mounts[0]['containerPath']}"], "mounts": mounts}
            made["devices"].append({"name": device["name"] + SECOND, "containerEdits": second})
        return made


class TwoIds(OtherIds):
    """V04: a device with several CDI ids."""

    def ids(self, device: Prepared) -> Sequence[str]:
        return [*device.cdi_ids, *(id + SECOND for id in device.cdi_ids)]


class NoSpecs(CdiStore):
    """V04: no specs, as with NRI. Where a checkpoint is damaged every device counts as in use."""

    def write(self, record: Record) -> None:
        """Nothing: the runtime is told by other means."""

    def ensure(self, record: Record) -> None:
        """Nothing either."""

    def told(self, ref: ClaimRef) -> Allocation:
        return Allocation(held=tuple(every_device(self.options)))


class NoIds(OtherIds):
    """V04: no CDI ids at all."""

    def ids(self, device: Prepared) -> Sequence[str]:
        return ()


class WithBase(CdiStore):
    """V12: a base spec that is always there, with edits for every container of the driver."""

    def open(self) -> None:
        super().open()
        base = {
            "cdiVersion": CDI_VERSION,
            "kind": f"{self.driver}/{BASE}",
            "containerEdits": {"env": ["FAKE_DRIVER=1"]},
            "devices": [{"name": BASE, "containerEdits": {"env": ["FAKE_BASE=1"]}}],
        }
        path = self.base_path()
        path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        files.write(path, self.encode(base), mode=FILE_MODE)

    def base_path(self) -> Path:
        """Where the base spec is."""
        raise NotImplementedError


class YamlSpecs(WithBase):
    """V12: YAML under names of another pattern; the base spec is with the static ones."""

    def base_path(self) -> Path:
        return self.options.static_cdi_root / f"{self.driver}.{BASE}.yaml"

    def unfinished(self) -> list[Path]:
        return sorted(self.root.glob(f".{self.driver}.*{files.TEMPORARY}"))

    def files(self) -> list[Path]:
        return sorted(self.root.glob(f"{self.driver}.*.yaml"))

    def path(self, ref: ClaimRef) -> Path:
        return self.root / f"{self.driver}.{ref.uid}.yaml"

    def encode(self, spec: dict[str, Any]) -> bytes:
        return yaml.safe_dump(spec, allow_unicode=True).encode()

    def decode(self, data: bytes) -> Any:
        try:
            return yaml.safe_load(data)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error


class HashedNames(WithBase):
    """V12: names that do not tell the claim; the base spec is among those of the claims."""

    def base_path(self) -> Path:
        return self.root / f"{BASE}-of-{self.driver}.json"

    def unfinished(self) -> list[Path]:
        return sorted(self.root.glob(f".{self.prefix}*{files.TEMPORARY}"))

    def files(self) -> list[Path]:
        return sorted(self.root.glob(f"{self.prefix}*.json"))

    def path(self, ref: ClaimRef) -> Path:
        return self.root / f"{self.prefix}{hashlib.sha256(ref.uid.encode()).hexdigest()[:24]}.json"

    @property
    def prefix(self) -> str:
        """What the names of the specs begin with."""
        return f"dra-{self.driver.replace('.', '-')}-"


class BaseId(OtherIds):
    """V12: each device also has the id of the base spec's device."""

    def ids(self, device: Prepared) -> Sequence[str]:
        kind = device.cdi_ids[0].partition("/")[0]
        return [f"{kind}/{BASE}={BASE}", *device.cdi_ids]


NOTES_MODE: Final = 0o700
"""Notes are the driver's own business."""


class LastingSpecs(CdiStore):
    """V21: a CDI device for each physical device, which is there from the start and stays for ever.

    What would be the claim's own spec is a note of the driver's, for a damaged checkpoint. Where
    the note is damaged too, every device counts as in use.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.root = self.options.data_dir / "uses"

    def open(self) -> None:
        super().open()
        self.root.chmod(NOTES_MODE)
        self.options.static_cdi_root.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        for held in every_device(self.options):
            self._write_lasting(held)

    def write(self, record: Record) -> None:
        super().write(record)
        for held in record.allocation.held:
            self._write_lasting(held)

    def ensure(self, record: Record) -> None:
        super().ensure(record)
        for held in record.allocation.held:
            self._write_lasting(held)

    def remove(self, ref: ClaimRef) -> None:
        super().remove(ref)
        # A release before this one may have made a spec for the claim.
        files.remove(self.options.cdi_root / self.path(ref).name)

    def told(self, ref: ClaimRef) -> Allocation:
        found = super().told(ref)
        return found if found.held else Allocation(held=tuple(every_device(self.options)))

    def _write_lasting(self, held: Held) -> None:
        data = self.encode(self._lasting(held))
        path = self.options.static_cdi_root / f"{self.driver}-{LASTING}_{held.device}.json"
        if not path.exists() or files.read(path) != data:
            files.write(path, data, mode=FILE_MODE)

    def _lasting(self, held: Held) -> dict[str, Any]:
        whole = Held(pool=held.pool, device=held.device, requests=())
        device = {
            "name": held.device,
            "containerEdits": {**edits(whole), "mounts": [self.mount()]},
        }
        return {
            "cdiVersion": CDI_VERSION,
            "kind": f"{self.driver}/{LASTING}",
            "devices": [device],
        }


class FirstNeed(LastingSpecs):
    """V21: a CDI device for each physical one as well, made when it is first needed."""

    def open(self) -> None:
        CdiStore.open(self)
        self.root.chmod(NOTES_MODE)
        self.options.static_cdi_root.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)


class DeviceIds(OtherIds):
    """V21: the ids of the physical devices, the same for every claim."""

    def ids(self, device: Prepared) -> Sequence[str]:
        kind = device.cdi_ids[0].partition("/")[0]
        return [f"{kind}/{LASTING}={device.device}"]

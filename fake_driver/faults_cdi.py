"""Faults of CDI specs: their files, names and edits (CDI)."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.cdi_store import FILE_MODE
from pytest_dra.fake_driver.cdi_store import CdiStore
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.faults_claim import AlteredAnswers
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.record import Prepared
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.service import Answer
from pytest_dra.fake_driver.service import DraService

STEP_S: Final = 0.05
"""Between the two steps of CDI-004, as its text has it."""

NEWEST: Final = "1.1.0"
"""Newest cdiVersion that runtimes know."""

GROUP: Final = 4711
"""A supplemental group that no machine has by chance."""

_NAMED_AFTER_DEVICE = (
    "name the CDI device after the physical device and put the claim's UID into its env"
)


def _named_after_device(name: str, uid: str) -> str:
    """Without the claim: the device, and what tells apart those who use it at the same time."""
    return name.removeprefix(f"{uid}-")


@fault("CDI-003", _NAMED_AFTER_DEVICE)
class DeviceSpecs(CdiStore):
    def device(self, record: Record, held: Held) -> dict[str, Any]:
        made = super().device(record, held)
        made["name"] = _named_after_device(made["name"], record.ref.uid)
        made["containerEdits"]["env"].append(f"FAKE_CLAIM_UID={record.ref.uid}")
        return made


@fault("CDI-003", _NAMED_AFTER_DEVICE)
class DeviceIds(DraService):
    def prepare_one(self, ref: ClaimRef, call: Call) -> Answer:
        answer = super().prepare_one(ref, call)
        if isinstance(answer, ClaimError):
            return answer
        return tuple(
            dataclasses.replace(device, cdi_ids=tuple(_renamed(device.cdi_ids, ref.uid)))
            for device in answer
        )


def _renamed(ids: Iterable[str], uid: str) -> Iterator[str]:
    for id in ids:
        kind, _, name = id.partition("=")
        yield f"{kind}={_named_after_device(name, uid)}"


@fault("CDI-004", "write the final file in two steps, 50 ms apart, with a close between them")
class TwoSteps(CdiStore):
    def write(self, record: Record) -> None:
        data = self.encode(self.spec(record))
        half = len(data) // 2
        path = self.path(record.ref)
        _append(path, data[:half], os.O_CREAT | os.O_TRUNC)
        threading.Event().wait(STEP_S)
        _append(path, data[half:], os.O_APPEND)


def _append(path: Path, data: bytes, flags: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, FILE_MODE)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, FILE_MODE)
        file.write(data)


@fault("CDI-008", "declare the newest known version in every spec")
class NewestVersion(CdiStore):
    def spec(self, record: Record) -> dict[str, Any]:
        return {**super().spec(record), "cdiVersion": NEWEST}


@fault("CDI-006", "write claim specs into the static directory")
class StaticSpecs(CdiStore):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.root = self.options.static_cdi_root

    def remove(self, ref: ClaimRef) -> None:
        super().remove(ref)
        # A predecessor without the fault has written where it should.
        files.remove(self.options.cdi_root / self.path(ref).name)


class AlteredEdits(CdiStore):
    """A store whose devices have edits that are not right."""

    def device(self, record: Record, held: Held) -> dict[str, Any]:
        made = super().device(record, held)
        self.alter(made["containerEdits"])
        return made

    def alter(self, edits: dict[str, Any]) -> None:
        """Change the edits of one device."""
        raise NotImplementedError


@fault("CDI-007", "name a device node below /dev that does not exist, without type and major")
class MissingNode(AlteredEdits):
    def alter(self, edits: dict[str, Any]) -> None:
        edits["deviceNodes"].append({"path": "/dev/fake-dra/none"})


@fault("CDI-009", "chmod 0666 on the spec file")
class OpenToAll(CdiStore):
    def write(self, record: Record) -> None:
        super().write(record)
        self.path(record.ref).chmod(0o666)


@fault("CDI-012", "leave request_names empty for all devices")
class NoRequestNames(AlteredAnswers):
    def alter(self, devices: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
        return tuple(dataclasses.replace(device, requests=()) for device in devices)


@fault("CDI-014", "add `additionalGids` to the claim's edits and declare 0.5.0")
class TooLowVersion(AlteredEdits):
    def alter(self, edits: dict[str, Any]) -> None:
        edits["additionalGids"] = [GROUP]


@fault("CDI-015", "write the spec in the data directory and rename it into the CDI directory")
class RenamedFromElsewhere(CdiStore):
    def write(self, record: Record) -> None:
        path = self.path(record.ref)
        elsewhere = self.options.data_dir / f"{path.name}{files.TEMPORARY}"
        files.write(elsewhere, self.encode(self.spec(record)), mode=FILE_MODE)
        try:
            elsewhere.rename(path)
        except OSError:
            elsewhere.unlink()
            raise


@fault("CDI-016", "add a null entry to the claim's mounts")
class NullMount(AlteredEdits):
    def alter(self, edits: dict[str, Any]) -> None:
        edits["mounts"].append(None)


@fault("CDI-017", "leave out `rbind` and set type `bind`")
class BindByType(AlteredEdits):
    def alter(self, edits: dict[str, Any]) -> None:
        for mount in edits["mounts"]:
            mount["options"].remove("rbind")
            mount["type"] = "bind"

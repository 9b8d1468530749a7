"""The CDI specs of prepared claims: one file per claim, written before the claim is answered."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any
from typing import Final

from pytest_dra.fake_driver import files
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.record import Record
from pytest_dra.fake_driver.record import edits

CDI_VERSION: Final = "0.5.0"
"""Lowest version for what the specs use: ``hostPath`` and names that start with a digit."""

FILE_MODE: Final = 0o644
"""Specs are for the container runtime to read and for nobody else to write."""

DIRECTORY_MODE: Final = 0o755

_log = logging.getLogger(__name__)

_TOLD = re.compile(
    r"FAKE_DEVICE_[A-Z0-9_]+_[0-9a-f]{8}=(?P<pool>[^#=]+)/(?P<device>[^/#=]+)(#(?P<share>.+))?"
)


class CdiStore:
    """Spec files below the CDI directory ``root``; containers see the directory ``shared``."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.root = options.cdi_root
        self.shared = options.data_dir / "shared"
        self.driver = options.driver_name
        self.kind = f"{self.driver}/claim"

    def open(self) -> None:
        """Make the directories and drop unfinished files of a predecessor."""
        for directory in (self.root, self.shared):
            directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        for left in self.unfinished():
            left.unlink(missing_ok=True)

    def unfinished(self) -> list[Path]:
        """Files that a predecessor has not finished."""
        return sorted(self.root.glob(f".{self.driver}-claim_*{files.TEMPORARY}"))

    def files(self) -> list[Path]:
        """The specs of all claims."""
        return sorted(self.root.glob(f"{self.driver}-claim_*.json"))

    def path(self, ref: ClaimRef) -> Path:
        """The claim's spec file: of the UID alone, so that its length is bounded."""
        return self.root / f"{self.driver}-claim_{ref.uid}.json"

    def device(self, record: Record, held: Held) -> dict[str, Any]:
        """The CDI device for one device of the claim."""
        return {
            "name": record.cdi_name(held),
            "containerEdits": {**edits(held), "mounts": [self.mount()]},
        }

    def mount(self) -> dict[str, Any]:
        """The driver's shared directory, for reading."""
        return {
            "hostPath": str(self.shared),
            "containerPath": f"/run/{self.driver}",
            "options": ["ro", "nosuid", "nodev", "rbind"],
        }

    def spec(self, record: Record) -> dict[str, Any]:
        """The claim's CDI spec."""
        devices = [self.device(record, held) for held in record.allocation.held]
        return {"cdiVersion": CDI_VERSION, "kind": self.kind, "devices": devices}

    def encode(self, spec: dict[str, Any]) -> bytes:
        """A spec as text that JSON and YAML parsers read alike: no escaped pairs of surrogates."""
        return json.dumps(spec, indent=1, ensure_ascii=False).encode()

    def decode(self, data: bytes) -> Any:
        """What :meth:`encode` has made a text of; ValueError if it is damaged."""
        return json.loads(data)

    def write(self, record: Record) -> None:
        """Write the claim's spec; OSError if that fails."""
        self.root.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        files.write(self.path(record.ref), self.encode(self.spec(record)), mode=FILE_MODE)

    def ensure(self, record: Record) -> None:
        """Write the spec of a prepared claim again if it is gone or not what it should be."""
        try:
            if files.read(self.path(record.ref)) == self.encode(self.spec(record)):
                return
        except FileNotFoundError:
            _log.warning("claim %s: its CDI spec was gone, writing it again", record.ref)
        except ValueError:
            _log.warning("claim %s: its CDI spec was changed, writing it again", record.ref)
        self.write(record)

    def remove(self, ref: ClaimRef) -> None:
        """Remove the claim's spec if it is there; OSError if that fails."""
        files.remove(self.path(ref))

    def told(self, ref: ClaimRef) -> Allocation:
        """What the claim's spec, if there is one, says of the devices in use."""
        try:
            spec = self.decode(files.read(self.path(ref)))
            texts = [env for device in spec["devices"] for env in device["containerEdits"]["env"]]
        except (OSError, ValueError, KeyError, TypeError):
            return Allocation(held=())
        admin = {text.partition("_ADMIN=")[0] for text in texts if "_ADMIN=" in text}
        matches = [_TOLD.fullmatch(text) for text in texts]
        return Allocation(
            held=tuple(
                Held(
                    pool=match["pool"],
                    device=match["device"],
                    requests=(),
                    share_id=match["share"] or "",
                    admin=match[0].partition("=")[0] in admin,
                )
                for match in matches
                if match
            )
        )

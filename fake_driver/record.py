"""What is remembered of a prepared claim: the checkpoint, and the answer that follows from it."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any
from typing import Final

from pytest_dra.fake_driver import names
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.opaque import DeviceConfig

VERSION: Final = 2
"""Version of the checkpoint format. Version 1 called the devices ``held``."""

VERSIONS: Final = (1, VERSION)

_DEVICES: Final = {1: "held", VERSION: "devices"}
"""Name of the list of devices, by version."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One device in the answer to Prepare."""

    pool: str
    device: str
    requests: tuple[str, ...]
    cdi_ids: tuple[str, ...]
    share_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A prepared claim. ``whole`` is False for one whose checkpoint was damaged: its devices are
    still in use, but only the claim itself can tell what was prepared."""

    ref: ClaimRef
    allocation: Allocation
    whole: bool = True

    def cdi_name(self, held: Held) -> str:
        """Name of the CDI device for ``held``: never the same for other edits."""
        return f"{self.ref.uid}-{held.device}-{held.digest}"

    def answer(self, kind: str) -> tuple[Prepared, ...]:
        """The devices of the claim with ids of CDI kind ``kind`` (vendor/class)."""
        return tuple(
            Prepared(
                pool=held.pool,
                device=held.device,
                requests=held.requests,
                cdi_ids=(f"{kind}={self.cdi_name(held)}",),
                share_id=held.share_id,
            )
            for held in self.allocation.held
        )


_ENV_UNSAFE = re.compile(r"[^A-Z0-9]")


def env_name(held: Held) -> str:
    """Name of the variable that tells a container of this device; another one for each device."""
    return f"FAKE_DEVICE_{_ENV_UNSAFE.sub('_', held.device.upper())}_{held.digest}"


def edits(held: Held) -> dict[str, Any]:
    """The containerEdits of one device: its variables and a device node."""
    name = env_name(held)
    share = f"#{held.share_id}" if held.share_id else ""
    env = [f"{name}={held.pool}/{held.device}{share}", f"{name}_MODE={held.config.mode}"]
    if held.config.label:
        env.append(f"{name}_LABEL={held.config.label}")
    if held.admin:
        env.append(f"{name}_ADMIN=true")
    node = {"path": f"/dev/fake-dra/{held.device}-{held.digest}", "hostPath": "/dev/null"}
    return {"env": env, "deviceNodes": [node]}


def encode(record: Record, *, version: int = VERSION) -> bytes:
    """The checkpoint of ``record``."""
    value = {
        "version": version,
        "claim": dataclasses.asdict(record.ref),
        _DEVICES[version]: [dataclasses.asdict(held) for held in record.allocation.held],
    }
    return json.dumps(value, indent=1, sort_keys=True).encode()


def decode(data: bytes, *, newest: int = VERSION) -> Record:
    """Read a checkpoint of any version up to ``newest``; ValueError with what is wrong with it."""
    try:
        value = json.loads(data)
        version = value["version"]
        if version not in VERSIONS or version > newest:
            raise ValueError(f"its version is {version!r}, want at most {newest}")
        ref = ClaimRef(**value["claim"])
        held = tuple(_held(entry) for entry in value[_DEVICES[version]])
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is damaged: {error!r}") from error
    if not names.is_uid(ref.uid) or not held:
        raise ValueError("it is damaged: UID or devices are missing")
    return Record(ref=ref, allocation=Allocation(held=held))


def _held(entry: dict[str, Any]) -> Held:
    values = dict(entry)
    values["config"] = DeviceConfig(**values["config"])
    values["requests"] = tuple(values["requests"])
    values["consumed"] = tuple((name, amount) for name, amount in values.get("consumed") or ())
    return Held(**values)

"""Faults of the metadata of devices (META)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.metadata import Metadata
from pytest_dra.fake_driver.record import Record

PAIR: Final = (0, 1)
"""The devices of META-006, by their place in a pool."""


@fault("META-001", "name the file metadata.json in the container")
class AnotherName(Metadata):
    def container_path(self, record: Record, request: str) -> str:
        return f"{self.base(record)}/{request}/metadata.json"


@fault("META-002", "mount the directory of the whole claim for each request")
class WholeClaim(Metadata):
    """Beside the file, so that this is still found: a runtime can make no place for it in a
    directory that is mounted read-only."""

    def mounts(self, record: Record, request: str) -> list[dict[str, Any]]:
        whole = {
            "hostPath": str(self.directory(record.ref)),
            "containerPath": f"{self.base(record)}.whole",
            "options": ["ro", "rbind"],
        }
        return [whole, *super().mounts(record, request)]


@fault("META-003", "leave out `ro`")
class Writable(Metadata):
    def mounts(self, record: Record, request: str) -> list[dict[str, Any]]:
        return [{**mount, "options": ["bind"]} for mount in super().mounts(record, request)]


@fault("META-004", "keep generation 1")
class OneGeneration(Metadata):
    def raised(self, generation: int) -> int:
        return generation


@fault("META-005", "leave the metadata directory")
class Leaves(Metadata):
    """With nothing in it."""

    def remove_files(self, ref: ClaimRef) -> None:
        super().remove_files(ref)
        self.directory(ref).mkdir()


@fault("META-006", "swap the attributes of two devices")
class Swapped(Metadata):
    """The first two of a pool."""

    def attributes(self, held: Held, inventory: Inventory) -> Mapping[str, Any]:
        found = inventory.find(held.pool, held.device)
        first = [found[0].devices[n] for n in PAIR if n < len(found[0].devices)] if found else []
        names = [device["name"] for device in first]
        if len(first) < len(PAIR) or held.device not in names:
            return super().attributes(held, inventory)
        other = first[1 - names.index(held.device)]
        attributes: Mapping[str, Any] = other["attributes"]
        return attributes

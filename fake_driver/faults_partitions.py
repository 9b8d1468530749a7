"""Faults of partitions and their counters (PART): an extra pool of a device and its part."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any
from typing import Final

from pytest_dra.fake_driver.faults_slice import EXTRA
from pytest_dra.fake_driver.faults_slice import ExtraSlices
from pytest_dra.fake_driver.faults_slice import in_extra_pool
from pytest_dra.fake_driver.inventory import Pool
from pytest_dra.fake_driver.slices import PoolSlices

SET: Final = "extra-0-counters"
WHOLE: Final = "8Gi"
PART: Final = "4Gi"

Device = dict[str, Any]
Spec = dict[str, Any]


def consumed(name: str = SET, amount: str = WHOLE, **more: Any) -> dict[str, Any]:
    """What a device consumes of a counter set."""
    return {"counterSet": name, "counters": {"memory": {"value": amount}}, **more}


def counter_set(name: str = SET) -> dict[str, Any]:
    """A set with one counter."""
    return {"name": name, "counters": {"memory": {"value": WHOLE}}}


class Partitions(ExtraSlices):
    """An extra pool of one device, ``extra-0``, and half of it, ``extra-1``.

    The slice with devices comes first: where the server refuses it, the other one is not created
    either, and no pool is left that lacks a slice.
    """

    def of_pool(self, pool: Pool) -> PoolSlices:
        made = super().of_pool(pool)
        if not pool.name.endswith(EXTRA):
            return made
        devices, *_ = made.specs
        rest = {key: value for key, value in devices.items() if key != "devices"}
        specs = self.both(devices, {**rest, "sharedCounters": self.sets()})
        for spec in specs:
            spec["pool"] = {**spec["pool"], "resourceSliceCount": self.count(specs)}
        return dataclasses.replace(made, specs=specs)

    def spoil(self, spec: Spec) -> Spec:
        whole, part, *_ = (copy.deepcopy(device) for device in spec["devices"])
        for device, kind in ((whole, "whole"), (part, "part")):
            device["attributes"].update(kind={"string": kind}, parent={"string": whole["name"]})
        whole["consumesCounters"] = [consumed()]
        part["consumesCounters"] = self.of_part()
        return {**spec, "devices": [whole, part]}

    def of_part(self) -> list[dict[str, Any]]:
        """What the part consumes."""
        return [consumed(amount=PART)]

    def sets(self) -> list[dict[str, Any]]:
        """The counter sets of the pool."""
        return [counter_set()]

    def both(self, devices: Spec, counters: Spec) -> tuple[Spec, ...]:
        """The slices of the pool."""
        return devices, counters

    def count(self, specs: tuple[Spec, ...]) -> int:
        """What they state as their number."""
        return len(specs)


@in_extra_pool(
    "PART-001",
    "in an extra pool, send devices and sharedCounters in one slice (1.34: two sets of one name "
    "in two slices)",
)
class InOneSlice(Partitions):
    """Both slices have the set, so that its name is there twice where that is all that is wrong."""

    def both(self, devices: Spec, counters: Spec) -> tuple[Spec, ...]:
        return {**devices, "sharedCounters": counters["sharedCounters"]}, counters


@in_extra_pool("PART-002", "in an extra pool, misspell the set name on one device")
class Misspelt(Partitions):
    def of_part(self) -> list[dict[str, Any]]:
        return [consumed("extra-0-conters", PART)]


@in_extra_pool(
    "PART-003", "in an extra pool, let one device consume from 3 sets (1.34: 33 counters)"
)
class ThreeSets(Partitions):
    """Three sets of eleven counters: too many for each version."""

    def values(self) -> dict[str, Any]:
        """The counters of each set."""
        return {f"memory-{n}": {"value": PART} for n in range(11)}

    def of_part(self) -> list[dict[str, Any]]:
        return [{"counterSet": f"more-{n}", "counters": self.values()} for n in range(3)]

    def sets(self) -> list[dict[str, Any]]:
        return [
            counter_set(),
            *({"name": f"more-{n}", "counters": self.values()} for n in range(3)),
        ]


@in_extra_pool("PART-004", "publish a partition larger than its parent's counter")
class TooLarge(Partitions):
    def of_part(self) -> list[dict[str, Any]]:
        return [consumed(amount="16Gi")]


@in_extra_pool("PART-005", "let partitions consume from a set of their own")
class OwnSet(Partitions):
    def of_part(self) -> list[dict[str, Any]]:
        return [consumed("parts", PART)]

    def sets(self) -> list[dict[str, Any]]:
        return [counter_set(), counter_set("parts")]


@in_extra_pool("PART-006", "in an extra pool, count only the slices with devices")
class DevicesCount(Partitions):
    def count(self, specs: tuple[Spec, ...]) -> int:
        return sum("devices" in spec for spec in specs)


@in_extra_pool("PART-011", "in an extra pool, name an attribute that one consuming device lacks")
class LacksType(Partitions):
    def both(self, devices: Spec, counters: Spec) -> tuple[Spec, ...]:
        name = f"{devices['driver']}/profile"
        _, part = devices["devices"]
        part["attributes"]["profile"] = {"string": "half"}
        return {**devices, "partitionTypeAttribute": name}, counters


@in_extra_pool("PART-012", "in an extra pool, publish three groups on one entry")
class ThreeGroups(Partitions):
    def of_part(self) -> list[dict[str, Any]]:
        return [consumed(amount=PART, compatibilityGroups=["a", "b", "c"])]

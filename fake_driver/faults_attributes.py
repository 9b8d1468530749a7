"""Faults of attributes and capacities (ATTR)."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any
from typing import Final

from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.faults_health import is_held
from pytest_dra.fake_driver.faults_slice import ExtraSlices
from pytest_dra.fake_driver.faults_slice import in_extra_pool
from pytest_dra.fake_driver.hotplug import Hotplug
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.inventory import Pool
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices

SECOND: Final = "gpu-1"
"""The second device of the bundled inventory."""

TOO_MANY: Final = 33
"""One more than a device may have of attributes and capacities together."""

Device = dict[str, Any]


class OneSpoiltDevice(ExtraSlices):
    """An extra pool of which the first device is wrong."""

    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        first, *others = spec["devices"]
        return {**spec, "devices": [self.spoilt(first), *others]}

    def spoilt(self, device: Device) -> Device:
        """The device made wrong."""
        return {**device, "attributes": {**device["attributes"], **self.attributes()}}

    def attributes(self) -> dict[str, Any]:
        """What it has besides, or instead."""
        raise NotImplementedError


class SpoiltDevices(Slices):
    """The proper pools with devices that are wrong."""

    def of_pool(self, pool: Pool) -> PoolSlices:
        found = [copy.deepcopy(device) for device in pool.devices]
        for device in found:
            self.spoil(device, last=device is found[-1])
        return super().of_pool(dataclasses.replace(pool, devices=tuple(found)))

    def spoil(self, device: Device, *, last: bool) -> None:
        """Make a device wrong, if it is one of those that shall be."""
        raise NotImplementedError


@in_extra_pool("ATTR-001", "in an extra pool, set string and version of one attribute")
class TwoValues(OneSpoiltDevice):
    def attributes(self) -> dict[str, Any]:
        return {"model": {"string": "1.0.0", "version": "1.0.0"}}


@in_extra_pool("ATTR-002", "in an extra pool, publish an attribute named `gpu-memory`")
class NoIdentifier(OneSpoiltDevice):
    def attributes(self) -> dict[str, Any]:
        return {"gpu-memory": {"int": 16}}


@in_extra_pool("ATTR-003", "in an extra pool, publish 33 attributes on one device")
class ManyAttributes(OneSpoiltDevice):
    def spoilt(self, device: Device) -> Device:
        more = {f"more{n}": {"int": n} for n in range(TOO_MANY - len(device["attributes"]))}
        return {**device, "attributes": {**device["attributes"], **more}, "capacity": {}}


@in_extra_pool("ATTR-004", "in an extra pool, publish version `v1.2`")
class NoSemver(OneSpoiltDevice):
    def attributes(self) -> dict[str, Any]:
        return {"driverVersion": {"version": "v1.2"}}


@fault("ATTR-005", "publish one int attribute as a string on the second device")
class OtherType(SpoiltDevices):
    def spoil(self, device: Device, *, last: bool) -> None:
        if device["name"] == SECOND:
            device["attributes"]["index"] = {"string": str(device["attributes"]["index"]["int"])}


@fault("ATTR-006", "drop one attribute on the second device")
class LacksOne(SpoiltDevices):
    def spoil(self, device: Device, *, last: bool) -> None:
        if device["name"] == SECOND:
            del device["attributes"]["uuid"]


@fault(
    "ATTR-007",
    "publish one attribute of every device twice, bare and with the driver's own domain, with "
    "different values",
)
class TwiceTheSame(SpoiltDevices):
    def spoil(self, device: Device, *, last: bool) -> None:
        domain = self.options.driver_name
        device["attributes"][f"{domain}/index"] = {"int": 1 + device["attributes"]["index"]["int"]}


@fault("ATTR-008", "publish `resource.kubernetes.io/pcieRoot` = `0` on every device")
class NoPcieRoot(SpoiltDevices):
    def spoil(self, device: Device, *, last: bool) -> None:
        device["attributes"]["resource.kubernetes.io/pcieRoot"] = {"string": "0"}


@fault("ATTR-010", "omit the attribute on all devices")
class NoDriverVersion(SpoiltDevices):
    def spoil(self, device: Device, *, last: bool) -> None:
        device["attributes"].pop("driverVersion", None)


@fault("ATTR-012", "publish one existing capacity of the last device as `-1Gi`")
class LessThanNothing(SpoiltDevices):
    def spoil(self, device: Device, *, last: bool) -> None:
        if last:
            next(iter(device["capacity"].values()))["value"] = "-1Gi"


@fault("ATTR-014", "publish an attribute named `a.example.com/b/c` on every device")
class TwoSlashes(SpoiltDevices):
    def spoil(self, device: Device, *, last: bool) -> None:
        device["attributes"]["a.example.com/b/c"] = {"bool": True}


_BY_USE: Final = "subtract prepared memory from the published capacity"

TALLY: Final = "tally"

ONE_EACH: Final = ("gpu-0", "nic-0", f"{TALLY}-0")
"""A device of each kind: only this case has claims on all of them at a time."""


@fault("ATTR-011", _BY_USE)
class WithTally(Inventories):
    """One more device, of a kind of its own."""

    def further(self) -> list[Pool]:
        device = {
            "name": f"{TALLY}-0",
            "attributes": {"kind": {"string": TALLY}, "driverVersion": {"version": "1.4.2"}},
            "capacity": {"memory": {"value": "16Gi"}},
        }
        pool = Pool(name=f"{self.options.node_name}-{TALLY}", devices=(device,))
        return [*super().further(), pool]


@fault("ATTR-011", _BY_USE)
class CountsUse(Hotplug):
    def present(self) -> Inventory:
        found = super().present()
        if not all(is_held(self.options, name) for name in ONE_EACH):
            return found
        return Inventory(tuple(self._less(pool) for pool in found.pools))

    def _less(self, pool: Pool) -> Pool:
        if not pool.name.endswith(TALLY):
            return pool
        rest = {"capacity": {"memory": {"value": "0"}}}
        return dataclasses.replace(pool, devices=tuple({**each, **rest} for each in pool.devices))

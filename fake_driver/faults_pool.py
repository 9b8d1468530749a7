"""Faults of the fields of slices: owners, pool names, limits, node choices, validation."""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.faults_slice import EXTRA
from pytest_dra.fake_driver.faults_slice import ExtraInventories
from pytest_dra.fake_driver.faults_slice import ExtraSlices
from pytest_dra.fake_driver.faults_slice import in_extra_pool
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices

TOO_MANY: Final = 129
TOO_MANY_TAINTED: Final = 65
"""One more than a slice may have: of plain devices, and from 1.35 on with a tainted one."""

TAINTS_COUNT_SINCE: Final = 35
"""Minor version from which on a tainted device lowers the limit of its slice."""


@fault("SLICE-004", "no ownerReferences")
class NoOwners(Publisher):
    def owners(self, spec: dict[str, Any]) -> list[dict[str, Any]]:
        return []


DEFAULT: Final = "default"
_DEFAULT = f"constant pool name `{DEFAULT}`"


@fault("SLICE-006", _DEFAULT)
class ConstantInventories(Inventories):
    """The proper pool is still known, so that claims on it can be prepared."""

    def load(self) -> Inventory:
        inventory = super().load()
        renamed = dataclasses.replace(inventory.pools[0], name=DEFAULT)
        return Inventory((renamed, *inventory.pools))


@fault("SLICE-006", _DEFAULT)
class ConstantSlices(Slices):
    def wanted(self) -> list[PoolSlices]:
        return [each for each in super().wanted() if each.pool == DEFAULT]


_LIMIT = "publish an extra pool with 129 devices in one slice (65 from 1.35, one of them tainted)"


@fault("SLICE-009", _LIMIT)
class ManyInventories(ExtraInventories):
    least = TOO_MANY


@fault("SLICE-009", _LIMIT)
class OneLargeSlice(Publisher):
    """Finds out about the version when it lists, and cuts the extra pool then."""

    def list_slices(self) -> str:
        minor = str(self.api.request("GET", "/version").get("minor", TAINTS_COUNT_SINCE))
        for key, pool in list(self.wanted.items()):
            if not key[1].endswith(EXTRA):
                continue
            devices = [device for spec in pool.specs for device in spec["devices"]]
            if int(minor.rstrip("+")) >= TAINTS_COUNT_SINCE:
                taint = {"key": f"{self.options.driver_name}/old", "effect": "NoSchedule"}
                devices = [{**devices[0], "taints": [taint]}, *devices[1:TOO_MANY_TAINTED]]
            spec = {**pool.specs[0], "devices": devices}
            spec["pool"] = {**spec["pool"], "resourceSliceCount": 1}
            self.wanted[key] = dataclasses.replace(pool, specs=(spec,))
        return super().list_slices()


@in_extra_pool(
    "SLICE-024",
    "in an extra pool, set perDeviceNodeSelection and leave one device without a node choice",
)
class OneNodeless(ExtraSlices):
    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        first, *others = spec["devices"]
        node = spec.pop("nodeName")
        chosen = [{**device, "nodeName": node} for device in others]
        return {**spec, "perDeviceNodeSelection": True, "devices": [first, *chosen]}


@in_extra_pool("SLICE-025", "in an extra pool, list only NodePrepareResources")
class SkipsPrepareAlone(ExtraSlices):
    def spoil(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {**spec, "skipNodeOperations": ["NodePrepareResources"]}


_NEGATIVE = "publish an extra pool with generation -1"


@fault("SLICE-027", _NEGATIVE)
class PoolBelowZero(ExtraInventories):
    pass


@fault("SLICE-027", _NEGATIVE)
class GenerationBelowZero(Publisher):
    def body(self, spec: dict[str, Any], generation: int) -> dict[str, Any]:
        below = spec["pool"]["name"].endswith(EXTRA)
        return super().body(spec, -1 if below else generation)

"""Faults of what devices may have besides: taints, shared capacity, conditions (TAINT, CAP, BIND,
LIFE), each in an extra pool."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.faults_attributes import Device
from pytest_dra.fake_driver.faults_attributes import OneSpoiltDevice
from pytest_dra.fake_driver.faults_slice import in_extra_pool
from pytest_dra.fake_driver.hotplug import Hotplug
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.preparer import Call
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.publisher import with_taints
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices


class Tainted(OneSpoiltDevice):
    """An extra pool with a device that has a taint."""

    def spoilt(self, device: Device) -> Device:
        return {**device, "taints": [self.taint()]}

    def taint(self) -> dict[str, Any]:
        """The taint."""
        raise NotImplementedError


@in_extra_pool("TAINT-001", "in an extra pool, publish a taint with effect `Evict`")
class UnknownEffect(Tainted):
    def taint(self) -> dict[str, Any]:
        return {"key": f"{self.options.driver_name}/unhealthy", "effect": "Evict"}


@in_extra_pool("TAINT-002", "use the key `unhealthy`")
class WithoutDomain(Tainted):
    def taint(self) -> dict[str, Any]:
        return {"key": "unhealthy", "effect": "NoSchedule"}


@fault("TAINT-003", "remove the device instead, and taint another one")
class TakesAway(Hotplug):
    def marked(self, inventory: Inventory, names: frozenset[str]) -> Inventory:
        pools = []
        for pool in inventory.pools:
            left = [device for device in pool.devices if device["name"] not in names]
            if left and len(left) < len(pool.devices):
                left[-1] = self.tainted(left[-1])
            pools.append(dataclasses.replace(pool, devices=tuple(left)))
        return Inventory(tuple(pools))


@fault("TAINT-004", "send the taint with timeAdded = now in each publication")
class AddedNow(Publisher):
    def with_times(self, spec: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return with_taints(spec, lambda name, taint: now)


@fault("TAINT-005", "refuse Unprepare for a tainted device")
class KeepsTainted(Preparer):
    def release(self, ref: ClaimRef, call: Call) -> None:
        known, faulty = self.ledger.get(ref), self.cdi.options.faulty()
        if known is not None and any(held.device in faulty for held in known.allocation.held):
            raise ClaimError(f"claim {ref}: its device is not healthy")
        super().release(ref, call)


@fault("TAINT-006", "refuse any tainted device at Prepare")
class WantsHealth(Preparer):
    def check(self, ref: ClaimRef, allocation: Allocation, call: Call) -> None:
        faulty = self.cdi.options.faulty()
        if any(held.device in faulty for held in allocation.held):
            raise ClaimError(f"claim {ref}: its device is tainted")
        super().check(ref, allocation, call)


@in_extra_pool("TAINT-007", "use NoExecute for an informational taint")
class Evicts(Tainted):
    def taint(self) -> dict[str, Any]:
        return {"key": f"{self.options.driver_name}/notice", "effect": "NoExecute"}


@in_extra_pool("CAP-001", "in an extra pool, publish a default that is not among validValues")
class DefaultElsewhere(OneSpoiltDevice):
    def spoilt(self, device: Device) -> Device:
        policy = {"default": "3Gi", "validValues": ["1Gi", "2Gi", "4Gi"]}
        memory = {"value": "16Gi", "requestPolicy": policy}
        capacity = {**device["capacity"], "memory": memory}
        return {**device, "allowMultipleAllocations": True, "capacity": capacity}


@in_extra_pool("BIND-001", "in an extra pool, publish only failure conditions")
class FailureAlone(OneSpoiltDevice):
    def spoilt(self, device: Device) -> Device:
        failed = [f"{self.options.driver_name}/failed"]
        return {**device, "bindingFailureConditions": failed}


@fault(
    "FEAT-001",
    "publish no network-attached pool though the profile declares NetworkAttached",
)
class NodesOnly(Slices):
    """The rest of the fault is in the profile."""

    def wanted(self) -> list[PoolSlices]:
        return [
            pool
            for pool in super().wanted()
            if not any(spec.get("allNodes") or spec.get("nodeSelector") for spec in pool.specs)
        ]


@in_extra_pool("LIFE-011", "in an extra pool, map to the resource `example.com/foo`")
class MapsElsewhere(OneSpoiltDevice):
    def spoilt(self, device: Device) -> Device:
        mapping = {"mapping": {"deviceMultiplier": "1"}}
        return {**device, "nodeAllocatableResources": {"example.com/foo": mapping}}

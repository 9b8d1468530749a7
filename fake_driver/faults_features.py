"""Faults of what devices may have besides: taints, shared capacity, conditions (TAINT, CAP, BIND,
LIFE), each in an extra pool."""

from __future__ import annotations

from typing import Any

from pytest_dra.fake_driver.faults_attributes import Device
from pytest_dra.fake_driver.faults_attributes import OneSpoiltDevice
from pytest_dra.fake_driver.faults_slice import in_extra_pool


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


@in_extra_pool("LIFE-011", "in an extra pool, map to the resource `example.com/foo`")
class MapsElsewhere(OneSpoiltDevice):
    def spoilt(self, device: Device) -> Device:
        mapping = {"mapping": {"deviceMultiplier": "1"}}
        return {**device, "nodeAllocatableResources": {"example.com/foo": mapping}}

"""What changes from one Kubernetes minor version to the next: feature gates, limits, served APIs.

Source: contract 1.2 and 8 (types, validation and feature files of 1.34 to 1.37) and recordings of
kube-apiserver.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource

LATEST: Final = "1.37"
"""The version that is meant where none is named."""

_STAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "DynamicResourceAllocation": "1111",
        "DRAAdminAccess": "1111",
        "DRAPrioritizedList": "1111",
        "DRAResourceClaimDeviceStatus": "1111",
        "DRAResourceClaimGranularStatusAuthorization": "--11",
        "DRAPartitionableDevices": "0011",
        "DRAPartitionableDevicesType": "---0",
        "DRADeviceTaints": "0011",
        "DRADeviceTaintRules": "-001",
        "DRAConsumableCapacity": "0011",
        "DRAFractionalCapacityRange": "---0",
        "DRADeviceBindingConditions": "0011",
        "DRAExtendedResource": "0011",
        "DRAListTypeAttributes": "--00",
        "DRANodeAllocatableResources": "--00",
        "DRAOptionalNodeOperations": "---0",
        "DRADeviceCompatibilityGroups": "---0",
        "DRADerivedAttributes": "---0",
        "DRAWorkloadResourceClaims": "--00",
        "DRAResourcePoolStatus": "--00",
    }
)
"""Default of each gate in 1.34, 1.35, 1.36 and 1.37: 1 on, 0 off, - not known to that version."""

_VERSIONS: Final = ("1.34", "1.35", "1.36", "1.37")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes that the server enforces; None where that version has no such rule.

    ``devices`` is the most devices in a slice, ``devices_special`` the same as soon as one has
    taints, consumes counters, or (``lists_are_special``) has a list attribute.
    ``counters_in_slice`` and ``consumed_in_slice`` are sums over a whole slice.
    """

    devices: int = 128
    devices_special: int | None = 64
    lists_are_special: bool = True
    devices_with_counter_sets: bool = False
    taints: int = 16
    counter_sets: int | None = 8
    counters: int | None = 32
    consumptions: int | None = 2
    counters_in_slice: int | None = None
    consumed_in_device: int | None = None
    consumed_in_slice: int | None = None
    entries_in_device: int = 32
    values_in_device: int | None = 48
    value_bytes: int = 64
    binding_conditions: int = 4
    requests: int = 32
    sub_requests: int = 8
    constraints: int = 32
    config: int = 32
    selectors: int = 32
    expression_bytes: int = 10240
    parameters_bytes: int = 10240
    results: int = 32
    result_config: int = 64
    reserved_for: int = 256
    status_conditions: int = 8
    status_ips: int = 16


_LIMITS: Final[Mapping[str, Limits]] = MappingProxyType(
    {
        "1.34": Limits(
            devices_special=None,
            lists_are_special=False,
            devices_with_counter_sets=True,
            taints=4,
            counter_sets=None,
            counters=None,
            consumptions=None,
            counters_in_slice=32,
            consumed_in_device=32,
            consumed_in_slice=1024,
            values_in_device=None,
        ),
        "1.35": Limits(lists_are_special=False, values_in_device=None),
        "1.36": Limits(),
        "1.37": Limits(),
    }
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesVersion:
    """One minor version: its limits, its feature gates and what it serves of resource.k8s.io.

    ``gates`` maps every gate that the version knows to on or off.
    """

    minor: int
    limits: Limits
    gates: Mapping[str, bool]
    served: tuple[Resource, ...]

    @property
    def name(self) -> str:
        """``1.37`` and the like."""
        return f"1.{self.minor}"

    def enabled(self, gate: str) -> bool:
        """True if the gate is known to this version and on."""
        return self.gates.get(gate, False)

    def with_gates(self, gates: Mapping[str, bool]) -> KubernetesVersion:
        """The same version with some gates turned.

        Raises:
            ValueError: the version does not have such a gate.
        """
        unknown = sorted(set(gates) - set(self.gates))
        if unknown:
            raise ValueError(
                f"Kubernetes {self.name} has no feature gate {', '.join(unknown)}; "
                f"it has {', '.join(sorted(self.gates))}"
            )
        return dataclasses.replace(self, gates=MappingProxyType({**self.gates, **gates}))


def kubernetes_version(name: str = LATEST) -> KubernetesVersion:
    """The profile of a version named like ``1.36``, ``v1.36`` or ``1.36.2``, gates at defaults.

    Raises:
        ValueError: it is none of 1.34 to 1.37.
    """
    short = ".".join(name.removeprefix("v").split(".")[:2])
    if short not in _VERSIONS:
        raise ValueError(f"Kubernetes version {name!r}: want one of {', '.join(_VERSIONS)}")
    column = _VERSIONS.index(short)
    gates = {gate: row[column] == "1" for gate, row in _STAGES.items() if row[column] != "-"}
    served = [
        resources.DEVICE_CLASSES,
        resources.RESOURCE_CLAIMS,
        resources.RESOURCE_CLAIM_TEMPLATES,
        resources.RESOURCE_SLICES,
    ]
    if gates.get("DRADeviceTaintRules") and column == _VERSIONS.index("1.37"):
        served.insert(1, resources.DEVICE_TAINT_RULES)
    return KubernetesVersion(
        minor=int(short.split(".")[1]),
        limits=_LIMITS[short],
        gates=MappingProxyType(gates),
        served=tuple(served),
    )

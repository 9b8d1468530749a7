"""What changes from one Kubernetes minor version to the next: feature gates, limits, served APIs.

Source: contract 1.2 and 8 (types, validation and feature files of 1.34 to 1.37) and recordings of
kube-apiserver. The data are in ``releases.json``: a new version is an entry there and no code.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.releases import DATA
from pytest_dra.api.releases import LATEST
from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.resources import Resource


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


class Stage(str, enum.Enum):
    """How far a feature gate is in one version; the word is that of the data."""

    ALPHA = "alpha"
    BETA = "beta"
    BETA_OFF = "beta-off"
    GA = "GA"
    LOCKED = "locked"
    """GA, and it cannot be turned off."""

    @property
    def default(self) -> bool:
        """On or off where nobody says otherwise."""
        return self not in (Stage.ALPHA, Stage.BETA_OFF)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesVersion:
    """One minor version: its limits, its feature gates and what it serves of resource.k8s.io.

    ``gates`` maps every gate that the version knows to on or off, ``stages`` to how far it is.
    What is served does not depend on the gates, as kube-apiserver has it.
    """

    minor: int
    limits: Limits
    gates: Mapping[str, bool]
    served: tuple[Resource, ...]
    stages: Mapping[str, Stage]

    @property
    def name(self) -> str:
        """``1.37`` and the like."""
        return f"1.{self.minor}"

    def enabled(self, gate: str) -> bool:
        """True if the gate is known to this version and on."""
        return self.gates.get(gate, False)

    def with_gates(self, gates: Mapping[str, bool]) -> KubernetesVersion:
        """The same version with some gates turned, whatever their stage.

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

    def with_known_gates(self, gates: Mapping[str, bool]) -> KubernetesVersion:
        """The same version with those of the gates turned that it has."""
        return self.with_gates({gate: on for gate, on in gates.items() if gate in self.gates})


NEEDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {gate: tuple(others) for gate, others in DATA["needs"].items()}
)
"""Gates that have to be on with another one, beside DynamicResourceAllocation; some are none of
DRA's."""

_RESOURCES: Final = {
    each.plural: each
    for each in (
        resources.DEVICE_CLASSES,
        resources.DEVICE_TAINT_RULES,
        resources.RESOURCE_CLAIMS,
        resources.RESOURCE_CLAIM_TEMPLATES,
        resources.RESOURCE_SLICES,
    )
}


def kubernetes_version(name: str = LATEST) -> KubernetesVersion:
    """The profile of a version named like ``1.36``, ``v1.36`` or ``1.36.2``, gates at defaults.

    Raises:
        ValueError: it is not known.
    """
    short = ".".join(name.removeprefix("v").split(".")[:2])
    if short not in VERSIONS:
        raise ValueError(f"Kubernetes version {name!r}: want one of {', '.join(VERSIONS)}")
    data = DATA["releases"][short]
    stages = {gate: Stage(word) for gate, word in data["gates"].items()}
    return KubernetesVersion(
        minor=int(short.split(".")[1]),
        limits=Limits(**data["limits"]),
        gates=MappingProxyType({gate: stage.default for gate, stage in stages.items()}),
        served=tuple(_resource(path) for path in data["served"]),
        stages=MappingProxyType(stages),
    )


def nearest_version(name: str) -> KubernetesVersion:
    """The profile of a server's version; of one that is not known the next one that is.

    Raises:
        ValueError: it is no version.
    """
    found = re.match(r"v?1\.(\d+)", name)
    if found is None:
        raise ValueError(f"Kubernetes version {name!r}: want one like v{LATEST}.0")
    minor = int(found[1])
    known = (int(each.split(".")[1]) for each in VERSIONS)
    return kubernetes_version(f"1.{min(known, key=lambda each: abs(each - minor))}")


def containerd_cdi(name: str) -> str:
    """The CDI library that containerd had at the time of a version such as ``1.37``."""
    return str(DATA["releases"][name]["containerd_cdi"])


def _resource(path: str) -> Resource:
    version, _, plural = path.partition("/")
    return dataclasses.replace(_RESOURCES[plural], version=version)

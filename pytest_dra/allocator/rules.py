"""What a scheduler runs: release, feature gates, and the copy of the allocator that they select."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Final

from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.versions import NEEDS
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.api.versions import kubernetes_version

LATEST: Final = max(kubernetes_version(name).minor for name in VERSIONS)
"""Minor version whose behaviour is the default."""

OLDEST: Final = 34
"""First minor version that is known."""

VARIANTS: Final = ("stable", "incubating", "experimental")
"""Copies of the allocator, in the order in which a scheduler looks for one that will do."""

GATES: Final = {
    "DRAAdminAccess": "admin_access",
    "DRAPrioritizedList": "prioritized_list",
    "DRAPartitionableDevices": "partitionable",
    "DRADeviceTaints": "taints",
    "DRADeviceBindingConditions": "binding",
    "DRAConsumableCapacity": "consumable",
    "DRAFractionalCapacityRange": "fractional",
    "DRAListTypeAttributes": "list_attributes",
    "DRAOptionalNodeOperations": "optional_operations",
    "DRADerivedAttributes": "derived",
    "DRADeviceCompatibilityGroups": "groups",
}
"""Fields of :class:`Rules` by the name of their feature gate. They choose the copy."""

AROUND: Final = {
    "DRAExtendedResource": "extended_resources",
    "DRANodeAllocatableResources": "node_allocatable",
    "DRAWorkloadResourceClaims": "group_claims",
}
"""The same for gates of what the scheduler does around the allocator."""

STABLE: Final = (
    "DRAAdminAccess", "DRAPrioritizedList", "DRADeviceTaints", "DRAPartitionableDevices",
)  # fmt: skip
"""Gates that the first copy supports."""

INCUBATING: Final = (
    *STABLE, "DRADeviceBindingConditions", "DRAConsumableCapacity", "DRAFractionalCapacityRange",
)  # fmt: skip
"""Gates that the second copy supports."""

_SINCE: Final = {
    gate: version.minor
    for version in map(kubernetes_version, reversed(VERSIONS))
    for gate in version.gates
}
"""Release in which a gate appears, or our oldest one if it was there already."""

_SORTED: Final = 36
"""First release with three copies as they are now, and with an order of pools and slices."""

_SUPPORTED: Final[dict[str, frozenset[str]]] = {
    "stable": frozenset(STABLE),
    "incubating": frozenset(INCUBATING),
    "experimental": frozenset(GATES),
}
_SUPPORTED_OLD: Final[dict[str, frozenset[str]]] = {
    "stable": frozenset(),
    "incubating": frozenset(STABLE),
    "experimental": frozenset(GATES),
}


class RulesError(ValueError):
    """No scheduler runs with these settings."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Release, variant and gates. Make one with :func:`rules` or :func:`rules_of`."""

    minor: int
    variant: str
    admin_access: bool = False
    prioritized_list: bool = False
    partitionable: bool = False
    taints: bool = False
    binding: bool = False
    consumable: bool = False
    fractional: bool = False
    list_attributes: bool = False
    optional_operations: bool = False
    derived: bool = False
    groups: bool = False
    extended_resources: bool = False
    node_allocatable: bool = False
    group_claims: bool = False

    @property
    def basic(self) -> bool:
        """True for the copy with the least: no sharing, no distinctAttribute, no order."""
        if self.minor >= _SORTED:
            return self.variant == "stable"
        return self.variant != "experimental"

    @property
    def per_slice(self) -> bool:
        """True if counters belong to one slice, and a pool is usable however many slices it has.

        An invalid pool then aborts the attempt when the search comes to it.
        """
        return self.minor <= 34

    @property
    def recharges(self) -> bool:
        """True if each share of a device consumes its counters again."""
        return self.minor <= 34

    @property
    def shallow(self) -> bool:
        """True if distinctAttribute takes values of two devices for different in any case."""
        return self.minor <= 34

    @property
    def permutes(self) -> bool:
        """True if devices of one request are tried in all orders, a shareable one repeatedly."""
        return self.minor < _SORTED

    @property
    def loses_alternative(self) -> bool:
        """True if the second device of an alternative for all is one of the first alternative."""
        return self.minor < _SORTED

    @property
    def leaks(self) -> bool:
        """True if a device that is refused late keeps the counters that it was to consume."""
        return self.minor < _SORTED

    @property
    def knows_groups(self) -> bool:
        """True if compatibility groups mean anything, be it that they cannot be used."""
        return self.minor >= 37

    @property
    def knows_derived(self) -> bool:
        """True if derived attributes mean anything, be it that they cannot be used."""
        return self.minor >= 37

    @property
    def knows_operations(self) -> bool:
        """True if optional node operations mean anything, be it that they cannot be used."""
        return self.minor >= 37

    @property
    def keeps_counters(self) -> bool:
        """True if slices with counters are looked at on every node, wherever they belong."""
        return not self.per_slice and (self.basic or self.minor <= 36)

    @property
    def remembers_shares(self) -> bool:
        """True if a share without an amount is enough for a device to be in use."""
        return self.minor >= 37

    @property
    def forgets(self) -> bool:
        """True if constraints do not come back to where they were, see ``forgetful``."""
        return self.minor <= 36

    @property
    def spares_full(self) -> bool:
        """True if a request for all devices leaves out those whose capacity is used up."""
        return self.minor <= 36

    @property
    def sharing(self) -> bool:
        """True if devices can be shared."""
        return self.consumable and not self.basic

    @property
    def sorts(self) -> bool:
        """True if pools and slices are tried in the order of their names."""
        return not self.basic and self.minor >= _SORTED


def rules(
    version: str = f"1.{LATEST}",
    features: Mapping[str, bool] | None = None,
    *,
    variant: str | None = None,
) -> Rules:
    """The rules of a Kubernetes version, with some gates turned that are not at their defaults.

    Raises:
        RulesError: unknown names, or no copy supports the gates.
    """
    try:
        found = kubernetes_version(version).with_gates(features or {})
    except ValueError as error:
        raise RulesError(str(error)) from error
    return rules_of(found, variant=variant)


def rules_of(version: KubernetesVersion, *, variant: str | None = None) -> Rules:
    """The rules of a Kubernetes version as it is configured; a gate needs those it builds on.

    ``variant`` forces a copy of the allocator; else the first one that supports all that is on.

    Raises:
        RulesError: the copy does not exist or does not support the gates.
    """
    enabled = [
        gate
        for gate in (*GATES, *AROUND)
        if version.enabled(gate)
        and all(version.enabled(one) for one in NEEDS.get(gate, ()) if one in version.gates)
    ]
    return rules_with(enabled, minor=version.minor, variant=variant)


def rules_with(gates: Iterable[str], *, minor: int = LATEST, variant: str | None = None) -> Rules:
    """The rules with exactly these gates, without those that the release does not have.

    Raises:
        RulesError: unknown names, or no copy supports the gates.
    """
    if minor < OLDEST:
        raise RulesError(f"no release 1.{minor}, the first one is 1.{OLDEST}")
    if variant and variant not in VARIANTS:
        raise RulesError(f"no variant {variant!r}, want one of {', '.join(VARIANTS)}")
    known = {**GATES, **AROUND}
    enabled = set(gates)
    unknown = sorted(enabled - set(known))
    if unknown:
        raise RulesError(f"no feature gate {', '.join(unknown)}, want some of {', '.join(known)}")
    enabled = {gate for gate in enabled if minor >= _SINCE[gate]}
    supported = _SUPPORTED if minor >= _SORTED else _SUPPORTED_OLD
    for name in (variant,) if variant else VARIANTS:
        if enabled & set(GATES) <= supported[name]:
            fields = dict.fromkeys((known[gate] for gate in enabled), True)
            return Rules(minor=minor, variant=name, **fields)
    raise RulesError(f"variant {variant} does not support all of {', '.join(sorted(enabled))}")

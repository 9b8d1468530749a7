"""Whether a case concerns a driver at all, by what its profile declares."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.catalogue import catalogue
from pytest_dra.profile.model import DriverProfile
from pytest_dra.profile.model import Scope
from pytest_dra.profile.model import ordinal
from pytest_dra.spec import Case
from pytest_dra.spec import Depth

NODE_PROFILES = frozenset({"NODE-CORE", "CLUSTER-CORE"})
"""Conformance profiles of a driver that registers with the kubelet."""

CONTROLLER = "CONTROLLER"


GATES: Final = MappingProxyType(
    {
        "AdminAccess": "DRAAdminAccess",
        "BindingConditions": "DRADeviceBindingConditions",
        "CompatibilityGroups": "DRADeviceCompatibilityGroups",
        "ConsumableCapacity": "DRAConsumableCapacity",
        "DeviceStatus": "DRAResourceClaimDeviceStatus",
        "DeviceTaints": "DRADeviceTaints",
        "ExtendedResource": "DRAExtendedResource",
        "ListAttributes": "DRAListTypeAttributes",
        "NodeAllocatable": "DRANodeAllocatableResources",
        "OptionalNodeOps": "DRAOptionalNodeOperations",
        "PartitionableDevices": "DRAPartitionableDevices",
        "PrioritizedList": "DRAPrioritizedList",
    }
)
"""Features with the feature gate of the API server that they need (contract 1.0)."""

AS_THEY_ARE: Final[Mapping[str, bool]] = MappingProxyType({})
"""Every feature gate at its default."""


def feature_applies(
    feature: str, kubernetes: str, *, gates: Mapping[str, bool] = AS_THEY_ARE
) -> bool:
    """True if Kubernetes of this minor has the feature on.

    Args:
        feature: a name of the catalogue.
        kubernetes: ``"1.34"``.
        gates: feature gates that are not at their defaults. One that is on lets its feature apply
            from the minor that has the gate (``alpha_since``) on.

    Raises:
        KeyError: the catalogue has no such feature.
    """
    known = catalogue().feature(feature)
    turned = gates.get(GATES.get(feature, ""))
    if turned is None:
        return known.since is not None and ordinal(known.since) <= ordinal(kubernetes)
    first = known.alpha_since or known.since
    return turned and first is not None and ordinal(first) <= ordinal(kubernetes)


def not_applicable(
    case: Case,
    profile: DriverProfile,
    *,
    kubernetes: str,
    gates: Mapping[str, bool] = AS_THEY_ARE,
) -> str:
    """Why a case does not concern this driver on this Kubernetes; empty if it does.

    The reasons name what would have to be declared, because they go into the report. Static cases
    of a feature concern every driver: they judge a field wherever it occurs, and say themselves
    where it does not. ``gates`` as for :func:`feature_applies`.
    """
    if ordinal(kubernetes) < ordinal(case.since):
        return f"applies from Kubernetes {case.since} on"
    if case.until is not None and ordinal(case.until) < ordinal(kubernetes):
        return f"applied until Kubernetes {case.until}"
    counted = set(case.profiles)
    scope = profile.driver.scope
    if scope is Scope.CLUSTER and counted & NODE_PROFILES and CONTROLLER not in counted:
        return "driver.scope is cluster: nothing registers with a kubelet"
    if scope is Scope.CLUSTER and CONTROLLER not in counted and _rests_on_node(case):
        return "driver.scope is cluster: it rests on a driver that registers with a kubelet"
    if scope is Scope.NODE and counted == {CONTROLLER}:
        return "driver.scope is node: there is no controller"
    for feature in case.features if case.depth is not Depth.STATIC else ():
        if not profile.declares(feature):
            return f"feature {feature} is not declared"
        if not feature_applies(feature, kubernetes, gates=gates):
            return f"feature {feature} is off in Kubernetes {kubernetes}{_turned(feature, gates)}"
    for feature in case.unless:
        if profile.declares(feature):
            return f"feature {feature} is declared"
    return ""


def _rests_on_node(case: Case) -> bool:
    """True if what a case needs, directly or not, is asked only of drivers that register."""
    needed = [catalogue().case(id) for id in case.needs]
    return any(
        (set(each.profiles) & NODE_PROFILES and CONTROLLER not in each.profiles)
        or _rests_on_node(each)
        for each in needed
    )


def _turned(feature: str, gates: Mapping[str, bool]) -> str:
    gate = GATES.get(feature, "")
    return f" with {gate}=false" if gates.get(gate) is False else ""


def unasked(case: Case, profile: DriverProfile) -> str:
    """Why nobody asks for the inputs that a case lacks: its feature is not declared; or empty."""
    for feature in case.features if missing_inputs(case, profile) else ():
        if not profile.declares(feature):
            return f"feature {feature} is not declared"
    return ""


def missing_inputs(case: Case, profile: DriverProfile) -> tuple[str, ...]:
    """The profile fields that the case cannot run without and that the vendor did not give."""
    return tuple(field for field in case.inputs if not profile.gives(field))

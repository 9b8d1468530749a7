"""Whether a case concerns a driver at all, by what its profile declares."""

from __future__ import annotations

from collections.abc import Collection

from pytest_dra.catalogue import catalogue
from pytest_dra.profile.model import DriverProfile
from pytest_dra.profile.model import Scope
from pytest_dra.profile.model import ordinal
from pytest_dra.spec import Case
from pytest_dra.spec import Depth

NODE_PROFILES = frozenset({"NODE-CORE", "CLUSTER-CORE"})
"""Conformance profiles of a driver that registers with the kubelet."""

CONTROLLER = "CONTROLLER"


def feature_applies(feature: str, kubernetes: str, *, enabled: Collection[str] = ()) -> bool:
    """True if Kubernetes of this minor has the feature on.

    Args:
        feature: a name of the catalogue.
        kubernetes: ``"1.34"``.
        enabled: features whose gates the run switches on by itself; they apply from the minor
            that has the gate (``alpha_since``) on.

    Raises:
        KeyError: the catalogue has no such feature.
    """
    known = catalogue().feature(feature)
    if known.since is not None and ordinal(known.since) <= ordinal(kubernetes):
        return True
    if feature not in enabled or known.alpha_since is None:
        return False
    return ordinal(known.alpha_since) <= ordinal(kubernetes)


def not_applicable(
    case: Case, profile: DriverProfile, *, kubernetes: str, enabled: Collection[str] = ()
) -> str:
    """Why a case does not concern this driver on this Kubernetes; empty if it does.

    The reasons name what would have to be declared, because they go into the report. Static cases
    of a feature concern every driver: they judge a field wherever it occurs, and say themselves
    where it does not.
    """
    if ordinal(kubernetes) < ordinal(case.since):
        return f"applies from Kubernetes {case.since} on"
    if case.until is not None and ordinal(case.until) < ordinal(kubernetes):
        return f"applied until Kubernetes {case.until}"
    counted = set(case.profiles)
    scope = profile.driver.scope
    if scope is Scope.CLUSTER and counted & NODE_PROFILES and CONTROLLER not in counted:
        return "driver.scope is cluster: nothing registers with a kubelet"
    if scope is Scope.NODE and counted == {CONTROLLER}:
        return "driver.scope is node: there is no controller"
    for feature in case.features if case.depth is not Depth.STATIC else ():
        if not profile.declares(feature):
            return f"feature {feature} is not declared"
        if not feature_applies(feature, kubernetes, enabled=enabled):
            return f"feature {feature} is off in Kubernetes {kubernetes}"
    for feature in case.unless:
        if profile.declares(feature):
            return f"feature {feature} is declared"
    return ""


def unasked(case: Case, profile: DriverProfile) -> str:
    """Why nobody asks for the inputs that a case lacks: its feature is not declared; or empty."""
    for feature in case.features if missing_inputs(case, profile) else ():
        if not profile.declares(feature):
            return f"feature {feature} is not declared"
    return ""


def missing_inputs(case: Case, profile: DriverProfile) -> tuple[str, ...]:
    """The profile fields that the case cannot run without and that the vendor did not give."""
    return tuple(field for field in case.inputs if not profile.gives(field))

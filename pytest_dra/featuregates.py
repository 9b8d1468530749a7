"""``--dra-feature-gates``: from text to gates that a Kubernetes version has and lets one turn."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final

from pytest_dra.api.releases import DATA
from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.versions import NEEDS
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.api.versions import Stage
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.options import OptionError
from pytest_dra.options import Settings
from pytest_dra.profile import DriverProfile
from pytest_dra.profile.applicability import GATES

OPTION: Final = "--dra-feature-gates"
CORE: Final = "DynamicResourceAllocation"
"""The gate without which there is nothing to judge."""

NEAREST: Final = 3
"""Names that are proposed in place of one that is not known."""

_VALUES: Final = {"true": True, "false": False}


def feature_gates(settings: Settings) -> dict[str, bool]:
    """The gates that are given, by name.

    Raises:
        OptionError: one cannot be turned so in the Kubernetes version that is judged for.
    """
    version = kubernetes_version(settings["dra_kubernetes"])
    found: dict[str, bool] = {}
    for part in settings["dra_feature_gates"].split(","):
        if not part.strip():
            continue
        name, _, word = (each.strip() for each in part.partition("="))
        if not name or word.lower() not in _VALUES:
            raise OptionError(
                f"{OPTION}: got {part.strip()!r}, want NAME=true or NAME=false, by comma"
            )
        if name in found:
            raise OptionError(f"{OPTION}: {name} is given twice; leave one of them out")
        found[name] = _VALUES[word.lower()]
        _must_be_known(name, version)
        _must_turn(name, version, on=found[name])
    _must_have_what_it_needs(version, found)
    return found


def cluster_gates(settings: Settings, profile: DriverProfile) -> dict[str, bool]:
    """The gates of a cluster that is made for the run: those given, and what the profile wants.

    That is what each feature needs that it declares, as far as the Kubernetes version has it, has
    it off, and nobody has turned it off.

    Raises:
        OptionError: as :func:`feature_gates`.
    """
    version = kubernetes_version(settings["dra_kubernetes"])
    found = feature_gates(settings)
    for feature, gate in GATES.items():
        if not profile.declares(feature):
            continue
        for name in (gate, *NEEDS.get(gate, ())):
            if version.gates.get(name) is False:
                found.setdefault(name, True)
    _must_have_what_it_needs(version, found)
    return found


def runtime_config(kubernetes: str, gates: Mapping[str, bool]) -> dict[str, str]:
    """The API versions that a cluster has to be told to serve: those of the gates that are on.

    Args:
        kubernetes: ``"1.36"``.
        gates: those that are turned.

    Returns:
        As kind's ``runtimeConfig`` has it: ``{"resource.k8s.io/v1beta2": "true"}``.
    """
    unserved: Mapping[str, str] = DATA["releases"][kubernetes].get("unserved", {})
    return {version: "true" for gate, version in unserved.items() if gates.get(gate)}


def _must_be_known(name: str, version: KubernetesVersion) -> None:
    if name in version.gates:
        return
    having = [each for each in VERSIONS if name in kubernetes_version(each).gates]
    if having:
        raise OptionError(
            f"{OPTION}: Kubernetes {version.name} has no feature gate {name}, "
            f"{_these(having)} it; add --dra-kubernetes={having[-1]}, or leave the gate out"
        )
    everywhere = {gate for each in VERSIONS for gate in kubernetes_version(each).gates}
    near = _nearest(name, version.gates) or _nearest(name, everywhere)
    way_out = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(version.gates)}"
    raise OptionError(
        f"{OPTION}: Kubernetes {version.name} has no feature gate {name} for DRA; {way_out}"
    )


def _these(having: list[str]) -> str:
    if having[-1] == VERSIONS[-1]:
        return f"{having[0]} and newer have" if len(having) > 1 else f"{having[0]} has"
    return f"{', '.join(having)} {'have' if len(having) > 1 else 'has'}"


def _nearest(name: str, known: Mapping[str, bool] | set[str]) -> list[str]:
    """The names most like it, whatever the case of their letters."""
    by_lower = {each.lower(): each for each in sorted(known)}
    short = name.lower()
    near = difflib.get_close_matches(short, by_lower, n=NEAREST)
    near += [each for each in by_lower if short and short in each and each not in near]
    return [by_lower[each] for each in near[:NEAREST]]


def _must_turn(name: str, version: KubernetesVersion, *, on: bool) -> None:
    if on:
        return
    if name == CORE:
        raise OptionError(f"{OPTION}: without {name} there is nothing to judge; leave it out")
    if version.stages[name] is Stage.LOCKED:
        open_in = [
            each
            for each in VERSIONS
            if kubernetes_version(each).stages.get(name, Stage.LOCKED) is not Stage.LOCKED
        ]
        older = f", or judge for an older version: --dra-kubernetes={open_in[-1]}"
        raise OptionError(
            f"{OPTION}: {name} is locked to true in Kubernetes {version.name}; "
            f"leave it out{older if open_in else ''}"
        )


def _must_have_what_it_needs(version: KubernetesVersion, given: Mapping[str, bool]) -> None:
    gates = {**version.gates, **given}
    for name, others in NEEDS.items():
        for other in others:
            if gates.get(name) and not gates.get(other, True):
                way_out = f"add {other}=true" if given.get(name) else f"add {name}=false"
                raise OptionError(f"{OPTION}: {name} needs {other}, which is off; {way_out}")

"""Taints of devices, tolerations of requests, and rules that add taints to devices."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

BLOCKING: Final = frozenset({"NoSchedule", "NoExecute"})
"""Effects that keep a device from being allocated; others are there for information."""

_EVERY_EFFECT: Final = 34
"""Last release in which any effect blocks."""


def blocks(taint: Mapping[str, Any], minor: int) -> bool:
    """True if a taint that nobody tolerates prevents allocation."""
    return minor <= _EVERY_EFFECT or taint.get("effect") in BLOCKING


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """True if a toleration covers a taint."""
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def untolerated(
    taints: Iterable[Mapping[str, Any]], tolerations: Sequence[Mapping[str, Any]], minor: int
) -> Mapping[str, Any] | None:
    """The first taint that keeps a request with these tolerations off a device."""
    for taint in taints:
        if blocks(taint, minor) and not any(tolerates(one, taint) for one in tolerations):
            return taint
    return None


def with_rules(
    slices: Sequence[Mapping[str, Any]], rules: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Slices with the taints of DeviceTaintRules behind the devices' own.

    The slices given are not changed. A rule selects by driver, pool and device, as far as it
    names them; one without a selector is for all devices.
    """
    made: list[Mapping[str, Any]] = []
    for one in slices:
        spec = one.get("spec") or {}
        wanted = [rule for rule in rules if _reaches(rule, spec)]
        if not wanted or not spec.get("devices"):
            made.append(one)
            continue
        devices = [_tainted(device, wanted) for device in spec["devices"]]
        made.append({**one, "spec": {**spec, "devices": devices}})
    return made


def _selector(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    return (rule.get("spec") or {}).get("deviceSelector") or {}


def _reaches(rule: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    selector = _selector(rule)
    pool = (spec.get("pool") or {}).get("name")
    return selector.get("driver") in (None, spec.get("driver")) and (
        selector.get("pool") in (None, pool)
    )


def _tainted(device: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    more = [
        (rule.get("spec") or {}).get("taint")
        for rule in rules
        if _selector(rule).get("device") in (None, device.get("name"))
    ]
    taints = [taint for taint in more if taint]
    return {**device, "taints": [*(device.get("taints") or ()), *taints]} if taints else device

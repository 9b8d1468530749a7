"""Small checks of what is shipped."""

from __future__ import annotations

from typing import Any

from tests.fake_driver.rig import Rig
from tests.fake_driver.small_checks import check


def _of(rig: Rig, kind: str) -> list[dict[str, Any]]:
    return [item for item in rig.parts.manifests().objects() if item["kind"] == kind]


def _rules(rig: Rig) -> list[dict[str, Any]]:
    return [rule for role in _of(rig, "ClusterRole") for rule in role["rules"]]


@check("ATTR-009")
def _(rig: Rig) -> None:
    for item in _of(rig, "DeviceClass"):
        expression = item["spec"]["selectors"][0]["cel"]["expression"]
        assert expression != "true"


@check("ATTR-013")
def _(rig: Rig) -> None:
    for item in _of(rig, "DeviceClass"):
        expression = item["spec"]["selectors"][0]["cel"]["expression"]
        assert "device." in expression or expression == "true"


@check("SEC-001")
def _(rig: Rig) -> None:
    assert all("*" not in rule["verbs"] for rule in _rules(rig))


@check("SEC-002")
def _(rig: Rig) -> None:
    (slices,) = (each for each in _rules(rig) if "resourceslices" in each["resources"])
    assert {"list", "watch", "create", "update", "delete"} <= set(slices["verbs"])


@check("SEC-007")
def _(rig: Rig) -> None:
    for item in _of(rig, "DaemonSet"):
        volumes = item["spec"]["template"]["spec"]["volumes"]
        assert all(volume["hostPath"]["path"] != "/" for volume in volumes)


@check("STAT-004")
def _(rig: Rig) -> None:
    granted = {resource for rule in _rules(rig) for resource in rule["resources"]}
    assert "resourceclaims/status" not in granted or "resourceclaims/driver" in granted


@check("LIFE-006")
def _(rig: Rig) -> None:
    for item in _of(rig, "DaemonSet"):
        assert "maxUnavailable" in item["spec"]["updateStrategy"]["rollingUpdate"]


@check("HLTH-011")
def _(rig: Rig) -> None:
    for item in _of(rig, "DaemonSet"):
        assert "livenessProbe" in item["spec"]["template"]["spec"]["containers"][0]

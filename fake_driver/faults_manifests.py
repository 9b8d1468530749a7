"""Faults of what is shipped: classes, roles and pods (ATTR, LIFE, SEC, STAT)."""

from __future__ import annotations

from typing import Any
from typing import ClassVar

from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.manifests import Manifests


class Spoilt(Manifests):
    """Manifests of which one object is wrong."""

    kind = ""

    def objects(self) -> list[dict[str, Any]]:
        """All objects, those of the kind made wrong."""
        found = super().objects()
        for item in found:
            if item["kind"] == self.kind:
                self.spoil(item)
        return found

    def spoil(self, item: dict[str, Any]) -> None:
        """Make an object wrong."""
        raise NotImplementedError


@fault("ATTR-009", "ship a class with the selector `true`")
class AnyDevice(Spoilt):
    kind = "DeviceClass"

    def spoil(self, item: dict[str, Any]) -> None:
        item["spec"]["selectors"] = [{"cel": {"expression": "true"}}]


@fault("ATTR-013", "ship a class whose CEL reads an undeclared identifier")
class Undeclared(Spoilt):
    kind = "DeviceClass"

    def spoil(self, item: dict[str, Any]) -> None:
        item["spec"]["selectors"][0]["cel"]["expression"] = "dev.driver == 'fake.dra.example'"


class SpoiltRole(Spoilt):
    """Manifests with one more rule in the role."""

    kind = "ClusterRole"
    rule: ClassVar[dict[str, Any]]

    def spoil(self, item: dict[str, Any]) -> None:
        item["rules"].append(self.rule)


@fault("SEC-001", "grant verbs `*` on resources `*`")
class Everything(SpoiltRole):
    rule: ClassVar[dict[str, Any]] = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


@fault("SEC-002", "take one verb that the driver uses (create of resourceslices) out of the role")
class CannotCreate(Spoilt):
    kind = "ClusterRole"

    def spoil(self, item: dict[str, Any]) -> None:
        for rule in item["rules"]:
            if "resourceslices" in rule["resources"]:
                rule["verbs"] = [verb for verb in rule["verbs"] if verb != "create"]


@fault("STAT-004", "grant resourceclaims/status only")
class StatusAlone(SpoiltRole):
    rule: ClassVar[dict[str, Any]] = {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims/status"],
        "verbs": ["update", "patch"],
    }

    def spoil(self, item: dict[str, Any]) -> None:
        item["rules"] = [each for each in item["rules"] if "driver" not in str(each["resources"])]
        super().spoil(item)


class SpoiltPods(Spoilt):
    """Manifests with a DaemonSet that is wrong."""

    kind = "DaemonSet"


@fault("SEC-007", "mount host path `/` read-write")
class WholeHost(SpoiltPods):
    def spoil(self, item: dict[str, Any]) -> None:
        pod = item["spec"]["template"]["spec"]
        pod["volumes"].append({"name": "host", "hostPath": {"path": "/"}})
        pod["containers"][0]["volumeMounts"].append({"name": "host", "mountPath": "/host"})


@fault("LIFE-006", "set maxSurge 1 without SeamlessUpgrade")
class Surges(SpoiltPods):
    """The manifests say so anyway; the profile of the fault does not declare the feature."""

    def spoil(self, item: dict[str, Any]) -> None:
        item["spec"]["updateStrategy"]["rollingUpdate"] = {"maxSurge": 1}


@fault("HLTH-011", "leave out the livenessProbe")
class NoProbe(SpoiltPods):
    def spoil(self, item: dict[str, Any]) -> None:
        del item["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]

"""The strategy of the RBAC kinds: names, defaults, and what rules and bindings need."""

from __future__ import annotations

from typing import ClassVar
from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

GROUP: Final = "rbac.authorization.k8s.io"


class Rbac(Strategy):
    """Roles and bindings, whose names may be anything that fits into a path."""

    create_on_update: ClassVar[bool] = True

    @property
    def _namespaced(self) -> bool:
        return "Cluster" not in self.kind

    def name_error(self, name: str) -> str:
        """No slash and no percent sign."""
        if name in (".", "..") or "/" in name or "%" in name:
            return "may not be '.' or '..', nor contain '/' or '%'"
        return ""

    def default(self, obj: Json) -> None:
        """Bindings refer to RBAC, and their users and groups live there."""
        if "roleRef" in obj and not obj["roleRef"].get("apiGroup"):
            obj["roleRef"]["apiGroup"] = GROUP
        for subject in obj.get("subjects") or []:
            if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
                subject["apiGroup"] = GROUP

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Rules, or the role and the subjects of a binding."""
        for index, rule in enumerate(obj.get("rules") or []):
            self._validate_rule(rule, f"rules[{index}]", report)
        if "roleRef" not in obj:
            return
        self._validate_role(obj["roleRef"], report)
        for index, subject in enumerate(obj.get("subjects") or []):
            self._validate_subject(subject, f"subjects[{index}]", report)

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """A binding stays with its role."""
        self.validate_create(new, ctx, report)
        if new.get("roleRef") != old.get("roleRef"):
            report.invalid("roleRef", new["roleRef"], "cannot change roleRef")

    def _validate_rule(self, rule: Json, where: str, report: Report) -> None:
        if not rule.get("verbs"):
            report.required(f"{where}.verbs", "verbs must contain at least one value")
        paths = rule.get("nonResourceURLs")
        if paths:
            if self._namespaced:
                why = "namespaced rules cannot apply to non-resource URLs"
                report.invalid(f"{where}.nonResourceURLs", paths, why)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                why = "rules cannot apply to both regular resources and non-resource URLs"
                report.invalid(f"{where}.nonResourceURLs", paths, why)
            return
        if not rule.get("apiGroups"):
            report.required(f"{where}.apiGroups", "rules must supply at least one api group")
        if not rule.get("resources"):
            report.required(f"{where}.resources", "rules must supply at least one resource")

    def _validate_role(self, role: Json, report: Report) -> None:
        known = ("Role", "ClusterRole") if self._namespaced else ("ClusterRole",)
        if role.get("apiGroup") != GROUP:
            report.not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,))
        if role.get("kind") not in known:
            report.not_supported("roleRef.kind", role.get("kind", ""), known)
        if not role.get("name"):
            report.required("roleRef.name")
        else:
            report.format("roleRef.name", role["name"], self.name_error(role["name"]))

    def _validate_subject(self, subject: Json, where: str, report: Report) -> None:
        kind, group, name = (subject.get(part, "") for part in ("kind", "apiGroup", "name"))
        if not name:
            report.required(f"{where}.name")
        if kind == "ServiceAccount":
            if name:
                report.format(f"{where}.name", name, names.dns_subdomain_error(name))
            if group:
                report.not_supported(f"{where}.apiGroup", group, ("",))
            if not self._namespaced and not subject.get("namespace"):
                report.required(f"{where}.namespace")
        elif kind in ("User", "Group"):
            if group != GROUP:
                report.not_supported(f"{where}.apiGroup", group, (GROUP,))
        else:
            report.not_supported(f"{where}.kind", kind, ("ServiceAccount", "User", "Group"))

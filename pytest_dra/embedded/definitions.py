"""CustomResourceDefinitions: what may be defined, and the status that says it is served.

They are in force as soon as they are stored: no controller has to be waited for. Names that two
definitions of a group share are not arbitrated; the first by name is served.
"""

from __future__ import annotations

from typing import ClassVar
from typing import Final

from pytest_dra.api import names
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

TYPE: Final = "apiextensions.CustomResourceDefinition"
"""Name of the type in the table, and of the bucket in the store."""

SCOPES: Final = ("Cluster", "Namespaced")
"""Where objects of a defined kind may live."""

_APPROVAL: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = (".k8s.io", ".kubernetes.io")
"""Groups of the project itself, whose definitions name the review that approved them."""

_CONDITIONS: Final = (
    ("NamesAccepted", "NoConflicts", "no conflicts found"),
    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)

_FIXED: Final = ("group", "scope")


class Definitions(Strategy):
    """CustomResourceDefinitions."""

    generation: ClassVar[bool] = True
    unconditional_update: ClassVar[bool] = False
    status: ClassVar[bool] = True

    def default(self, obj: Json) -> None:
        """Singular and list kind follow from the kind; nothing is converted."""
        spec = obj["spec"]
        kind = spec["names"].get("kind", "")
        if kind:
            spec["names"].setdefault("singular", kind.lower())
            spec["names"].setdefault("listKind", f"{kind}List")
        spec.setdefault("conversion", {"strategy": "None"})

    def prepare_create(self, obj: Json, ctx: Context) -> None:
        """Accepted and established at once."""
        time = now()
        obj["status"] = {
            "conditions": [
                {
                    "type": name,
                    "status": "True",
                    "lastTransitionTime": time,
                    "reason": reason,
                    "message": message,
                }
                for name, reason, message in _CONDITIONS
            ],
            "acceptedNames": dict(obj["spec"]["names"]),
            "storedVersions": _stored(obj),
        }

    def prepare_update(self, new: Json, old: Json, ctx: Context) -> None:
        """The status follows the names, and remembers every version that was ever stored."""
        super().prepare_update(new, old, ctx)
        before = old["status"]
        added = [name for name in _stored(new) if name not in before["storedVersions"]]
        new["status"] = {
            **before,
            "acceptedNames": dict(new["spec"]["names"]),
            "storedVersions": [*before["storedVersions"], *added],
        }

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """Names that fit each other, one stored version, a schema for each."""
        spec, meta = obj["spec"], obj["metadata"]
        plural, group = spec["names"]["plural"], spec["group"]
        if meta.get("name") != f"{plural}.{group}":
            why = 'must be spec.names.plural+"."+spec.group'
            report.invalid("metadata.name", meta.get("name", ""), why)
        annotations = meta.get("annotations") or {}
        if f".{group}".endswith(_PROTECTED) and not annotations.get(_APPROVAL):
            report.required(f"metadata.annotations[{_APPROVAL}]", "protected groups must have it")
        if not group:
            report.required("spec.group")
        elif "." not in group:
            report.invalid("spec.group", group, "should be a domain with at least one dot")
        else:
            report.format("spec.group", group, names.dns_subdomain_error(group))
        if not spec["scope"]:
            report.required("spec.scope")
        elif spec["scope"] not in SCOPES:
            report.not_supported("spec.scope", spec["scope"], SCOPES)
        _validate_names(spec["names"], report)
        _validate_versions(spec["versions"] or [], report)
        _validate_stored(spec["versions"] or [], obj["status"]["storedVersions"] or [], report)
        if spec.get("preserveUnknownFields"):
            report.invalid("spec.preserveUnknownFields", value=True, why="must be false")

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """An established definition keeps its group, scope, plural and kind."""
        self.validate_create(new, ctx, report)
        for name in _FIXED:
            if new["spec"][name] != old["spec"][name]:
                report.invalid(f"spec.{name}", new["spec"][name], "field is immutable")
        for name in ("plural", "kind"):
            if new["spec"]["names"][name] != old["spec"]["names"][name]:
                value = new["spec"]["names"][name]
                report.invalid(f"spec.names.{name}", value, "field is immutable")


def _stored(obj: Json) -> list[str]:
    return [one["name"] for one in obj["spec"]["versions"] or [] if one["storage"]][:1]


def _validate_names(found: Json, report: Report) -> None:
    for name in ("plural", "singular", "kind", "listKind"):
        value = found.get(name, "")
        if not value:
            report.required(f"spec.names.{name}")
        else:
            report.format(f"spec.names.{name}", value, names.dns_label_error(value.lower()))
    for index, value in enumerate(found.get("shortNames") or []):
        report.format(f"spec.names.shortNames[{index}]", value, names.dns_label_error(value))


def _validate_versions(versions: list[Json], report: Report) -> None:
    if sum(one["storage"] for one in versions) != 1:
        shown = [one["name"] for one in versions]
        why = "must have exactly one version marked as storage version"
        report.invalid("spec.versions", shown, why)
    seen: set[str] = set()
    alone = len(versions) == 1
    for index, one in enumerate(versions):
        path, name = f"spec.versions[{index}]", one["name"]
        report.format(f"{path}.name", name, names.dns_label_error(name))
        if alone:
            # the server looks at the only version once more, as at the former single one
            report.format("spec.version", name, names.dns_label_error(name))
        if name in seen:
            report.invalid("spec.versions", name, "must contain unique version names")
        seen.add(name)
        schema = (one.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            report.required(f"{path}.schema.openAPIV3Schema", "schemas are required")
            continue
        path = "spec.validation" if alone else f"{path}.schema"
        type_ = schema.get("type") if isinstance(schema, dict) else schema
        if not type_:
            report.required(f"{path}.openAPIV3Schema.type", "must not be empty at the root")
        elif type_ != "object":
            report.invalid(f"{path}.openAPIV3Schema.type", type_, "must be object at the root")


def _validate_stored(versions: list[Json], stored: list[str], report: Report) -> None:
    if not stored:
        report.invalid("status.storedVersions", stored, "must have at least one stored version")
        return
    for one in versions:
        if one["storage"] and one["name"] not in stored:
            why = f"must have the storage version {one['name']}"
            report.invalid("status.storedVersions", stored, why)

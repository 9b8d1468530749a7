"""Custom resources: kinds that CustomResourceDefinitions in the store define.

Plain storage with everything that objects have in common: metadata, patches, apply, watches,
selectors, the status subresource. Schemas are shown, and neither enforced nor used for pruning,
defaults or conversion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Final

from pytest_dra.api.resources import Resource
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import definitions
from pytest_dra.embedded.columns import Cells
from pytest_dra.embedded.columns import since
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.kinds import registry
from pytest_dra.embedded.labels import NAMED
from pytest_dra.embedded.labels import PLACED
from pytest_dra.embedded.labels import paths
from pytest_dra.embedded.store import Store
from pytest_dra.embedded.store import encode
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

_TYPE: Final = "custom.Resource"


_VERBS: Final = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
"""In the order in which discovery shows them for these kinds."""


class CustomObjects(Strategy):
    """Objects of a defined kind; all but the metadata counts for the generation."""

    generation: ClassVar[bool] = True
    unconditional_update: ClassVar[bool] = False

    def spec_changed(self, new: Json, old: Json) -> bool:
        """Any difference beside metadata (and a status of its own)."""
        left = ("metadata", "status") if self.status else ("metadata",)
        return _without(new, left) != _without(old, left)


class CustomObjectsWithStatus(CustomObjects):
    """Objects of a defined kind with a status subresource."""

    status: ClassVar[bool] = True


def _without(obj: Json, names: tuple[str, ...]) -> Json:
    return {name: value for name, value in obj.items() if name not in names}


def bucket(definition: Json) -> str:
    """Where the store keeps the objects of a CustomResourceDefinition."""
    return f"{_TYPE}@{definition['metadata']['name']}"


def served_kinds(version: KubernetesVersion, store: Store) -> dict[tuple[str, str, str], Kind]:
    """The kinds of a server of this version, and those that are defined in its store."""
    found: dict[tuple[str, str, str], Kind] = {}
    for definition in store.sorted(definitions.TYPE):
        for version_ in definition.object["spec"]["versions"] or []:
            if version_["served"]:
                kind = _kind(definition.object, version_)
                found.setdefault(
                    (kind.resource.group, kind.resource.version, kind.resource.plural), kind
                )
    # a definition never takes the place of a kind that the server has anyway
    return {**found, **registry(version)}


def _kind(definition: Json, version: Json) -> Kind:
    spec, names = definition["spec"], definition["spec"]["names"]
    resource = Resource(
        spec["group"],
        version["name"],
        names["plural"],
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
    )
    parts = version.get("subresources") or {}
    strategy = CustomObjectsWithStatus if "status" in parts else CustomObjects
    selectable = [one["jsonPath"].lstrip(".") for one in version.get("selectableFields") or []]
    return Kind(
        resource=resource,
        type=bucket(definition),
        strategy=strategy(bucket(definition)),
        fields=paths(PLACED if resource.namespaced else NAMED, *selectable),
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=_VERBS,
        subresources=("status",) if "status" in parts else (),
        deletes_to_object=False,
        head=encode({"kind": resource.kind, "apiVersion": resource.api_version})[:-1] + b",",
        deprecated=_deprecation(resource, version),
        custom=version,
    )


def _deprecation(resource: Resource, version: Json) -> str:
    if not version.get("deprecated"):
        return ""
    usual = f"{resource.api_version} {resource.kind} is deprecated"
    return str(version.get("deprecationWarning") or usual)


def columns(version: Json) -> tuple[list[Json], Cells]:
    """Column definitions and cells of a version of a CustomResourceDefinition."""
    printed = version.get("additionalPrinterColumns") or [_AGE]
    shown = [
        {
            "name": one["name"],
            "type": one["type"],
            "format": one.get("format", ""),
            "description": one.get("description", ""),
            "priority": one.get("priority", 0),
        }
        for one in (_NAME, *printed)
    ]

    def cells(obj: Json) -> list[Any]:
        return [obj["metadata"]["name"], *(_cell(one, obj) for one in printed)]

    return shown, cells


_NAME: Final[Json] = {
    "name": "Name", "type": "string", "format": "name", "description": "Name of the object",
}  # fmt: skip
_AGE: Final[Json] = {
    "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
    "description": "Age of the object",
}  # fmt: skip

_STEP: Final = re.compile(
    r"""\.(?P<name>[A-Za-z0-9_-]+)"""
    r"""|\[['"](?P<quoted>[^'"]+)['"]\]"""
    r"""|\[(?P<index>\d+)\]"""
    r"""|\[\?\(@\.(?P<key>[A-Za-z0-9_-]+)==["'](?P<value>[^"']*)["']\)\]"""
)
"""What printer columns are mostly made of: names, indices, and a filter by one member."""


def _cell(column: Json, obj: Json) -> Any:
    value = _at(column["jsonPath"], obj)
    if column["type"] == "date":
        return since(value) if isinstance(value, str) else "<unknown>"
    return value


def _at(path: str, value: Any) -> Any:
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        at = step.end()
        value = _stepped(step.groupdict(), value)
    return value


def _stepped(step: Mapping[str, str | None], value: Any) -> Any:
    name = step["name"] or step["quoted"]
    if name is not None:
        return value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, list):
        return None
    if step["index"] is not None:
        index = int(step["index"])
        return value[index] if index < len(value) else None
    key = step["key"] or ""
    found = (one for one in value if isinstance(one, dict) and one.get(key) == step["value"])
    return next(found, None)

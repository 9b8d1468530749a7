"""``/openapi/v3``: enough of the documents for kubectl to explain, create, apply and diff.

Made from the table of types. Descriptions are empty, and paths carry only what clients look for:
which operations there are, on which kind, and that PATCH takes ``fieldValidation``. What is
required although it is not always shown, or the other way round, and which words a field knows,
stands in ``openapi.json``. ``/openapi/v2`` is a document without types: kubectl leaves the checks
of what it has not found elsewhere to the server.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import json
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.embedded import fieldsets
from pytest_dra.embedded import typetable
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.typetable import Field
from pytest_dra.spec import Json

_PREFIXES: Final[Mapping[str, str]] = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta.v1",
    "core": "io.k8s.api.core.v1",
    "resource134": "io.k8s.api.resource.v1",
    "resourcev1beta1": "io.k8s.api.resource.v1beta1",
    "resourcev1alpha3": "io.k8s.api.resource.v1alpha3",
}
"""Packages of the groups of the table; all others are ``io.k8s.api.<group>.v1``."""

_SCALARS: Final[Mapping[str, Json]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int64": {"type": "integer", "format": "int64"},
    "int32": {"type": "integer", "format": "int32"},
    "float64": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "free": {"x-kubernetes-preserve-unknown-fields": True},
}

_NAMED: Final[Mapping[str, tuple[str, Json]]] = {
    "quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    "time": (f"{_PREFIXES['meta']}.Time", {"type": "string", "format": "date-time"}),
    "microtime": (f"{_PREFIXES['meta']}.MicroTime", {"type": "string", "format": "date-time"}),
    "intorstr": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
    ),
    "raw": ("io.k8s.apimachinery.pkg.runtime.RawExtension", {"type": "object"}),
    "fields": (f"{_PREFIXES['meta']}.FieldsV1", {"type": "object"}),
}
"""Scalars that have a name among the schemas: kubectl explain shows it."""

_FACTS: Final = "openapi.json"

V2: Final[Json] = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": "unversioned"},
    "paths": {},
}
V2_PROTOBUF: Final = b"\n\x032.0\x12\x19\n\x0aKubernetes\x12\x0bunversioned"
"""``/openapi/v2`` in both forms."""

_ACTIONS: Final = {
    "get": ("get", "list"),
    "post": ("create",),
    "put": ("update",),
    "patch": ("patch",),
    "delete": ("delete", "deletecollection"),
}
"""HTTP methods and the verbs that they stand for."""

_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")


class OpenApi:
    """The documents of one server, each made when it is first asked for."""

    def __init__(self, kinds: Mapping[tuple[str, str, str], Kind]) -> None:
        self._versions: dict[str, list[Kind]] = {}
        for (group, version, _), kind in kinds.items():
            place = f"apis/{group}/{version}" if group else f"api/{version}"
            self._versions.setdefault(place, []).append(kind)
        self._documents: dict[str, Json] = {}

    def index(self) -> Json:
        """``/openapi/v3``."""
        return {
            "paths": {
                place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={self._hash(place)}"}
                for place in sorted(self._versions)
            }
        }

    def _hash(self, place: str) -> str:
        names = sorted(kind.resource.plural for kind in self._versions[place])
        return hashlib.sha256(repr((place, names)).encode()).hexdigest().upper()

    def document(self, place: str) -> Json | None:
        """The document of ``apis/<group>/<version>`` or ``api/v1``; None if it is not served."""
        if place not in self._versions:
            return None
        if place not in self._documents:
            self._documents[place] = self._made(place)
        return self._documents[place]

    def _made(self, place: str) -> Json:
        schemas: Json = {}
        paths: Json = {}
        for kind in self._versions[place]:
            if kind.custom is None:
                _add_schema(kind.type, schemas)
                schemas[schema_name(kind.type)].update(_identified(kind, schemas))
            else:
                schemas[_custom_name(kind)] = _custom_schema(kind, schemas)
            paths |= _paths(kind)
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "unversioned"},
            "paths": paths,
            "components": {"schemas": schemas},
        }


def schema_name(kind: str) -> str:
    """The name of a type of the table among the schemas."""
    group, _, name = kind.partition(".")
    return f"{_PREFIXES.get(group, f'io.k8s.api.{group}.v1')}.{name}"


def _custom_name(kind: Kind) -> str:
    reverse = ".".join(reversed(kind.resource.group.split(".")))
    return f"{reverse}.{kind.resource.version}.{kind.resource.kind}"


def _custom_schema(kind: Kind, schemas: Json) -> Json:
    """The schema of a definition as it is, with what all objects have."""
    schema = ((kind.custom or {}).get("schema") or {}).get("openAPIV3Schema") or {}
    _add_schema(_METADATA, schemas)
    properties = schema.get("properties")
    return {
        **schema,
        "properties": {
            **(properties if isinstance(properties, dict) else {}),
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {
                "allOf": [{"$ref": f"#/components/schemas/{schema_name(_METADATA)}"}],
                "default": {},
            },
        },
        "x-kubernetes-group-version-kind": [_identity(kind)],
    }


_METADATA: Final = "meta.ObjectMeta"


def _identified(kind: Kind, schemas: Json) -> Json:
    properties = schemas[schema_name(kind.type)]["properties"]
    return {
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            **properties,
        },
        "x-kubernetes-group-version-kind": [_identity(kind)],
    }


def _identity(kind: Kind) -> Json:
    resource = kind.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _add_schema(kind: str, schemas: Json) -> None:
    name = schema_name(kind)
    if name in schemas:
        return
    schema: Json = {"type": "object", "description": "", "properties": {}}
    schemas[name] = schema
    shown = []
    for field in typetable.message(kind).by_name.values():
        about = schema["properties"][field.name] = {"description": "", **_property(field, schemas)}
        if words := _facts()["enums"].get(f"{kind}.{field.name}"):
            about["enum"] = words
        if field.always:
            shown.append(field.name)
    if required := _facts()["required"].get(kind, shown):
        schema["required"] = required
    if kind in fieldsets.ATOMIC_TYPES:
        schema["x-kubernetes-map-type"] = "atomic"


@functools.lru_cache(maxsize=1)
def _facts() -> dict[str, dict[str, list[str]]]:
    """Required fields by type, and words by type and field, where the table does not tell."""
    text = importlib.resources.files(__package__).joinpath(_FACTS).read_text("utf-8")
    found: dict[str, dict[str, list[str]]] = json.loads(text)
    return found


def _property(field: Field, schemas: Json) -> Json:
    if field.base == "message":
        _add_schema(field.message, schemas)
        reference = {"$ref": f"#/components/schemas/{schema_name(field.message)}"}
        item: Json = {"allOf": [reference], "default": {}} if not field.pointer else reference
        if not field.container and field.pointer:
            item = {"allOf": [reference]}
    elif field.base in _NAMED:
        name, schema = _NAMED[field.base]
        schemas[name] = schema
        reference = {"$ref": f"#/components/schemas/{name}"}
        item = reference if field.container else {"allOf": [reference]}
    else:
        item = dict(_SCALARS[field.base])
    if field.container == "map":
        return {"type": "object", "additionalProperties": item}
    if field.container == "list":
        return {"type": "array", "items": item, **_list_kind(field)}
    return item


def _list_kind(field: Field) -> Json:
    found: Json = {"x-kubernetes-list-type": "atomic"}
    if field.keys:
        keys = list(field.keys)
        found = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    elif field.is_set:
        found = {"x-kubernetes-list-type": "set"}
    if field.merge is not None:
        found["x-kubernetes-patch-strategy"] = "merge"
        if field.merge:
            found["x-kubernetes-patch-merge-key"] = field.merge
    return found


def _paths(kind: Kind) -> Json:
    resource = kind.resource
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else "/api/v1"
    if resource.namespaced:
        root += "/namespaces/{namespace}"
    collection = f"{root}/{resource.plural}"
    paths = {
        collection: _operations(kind, ("list", "create", "deletecollection")),
        f"{collection}/{{name}}": _operations(kind, ("get", "update", "patch", "delete")),
    }
    if "status" in kind.subresources:
        paths[f"{collection}/{{name}}/status"] = _operations(kind, ("get", "update", "patch"))
    return paths


def _operations(kind: Kind, verbs: tuple[str, ...]) -> Json:
    out: Json = {}
    for method, meant in _ACTIONS.items():
        verb = next((name for name in meant if name in verbs and name in kind.verbs), "")
        if not verb:
            continue
        operation: dict[str, Any] = {
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": verb,
            "x-kubernetes-group-version-kind": _identity(kind),
        }
        if method in ("post", "put", "patch"):
            operation["parameters"] = [
                {"name": name, "in": "query", "schema": {"type": "string"}} for name in _PARAMETERS
            ]
        out[method] = operation
    return out

"""The registry: which kinds the server has, and what distinguishes each of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import beta
from pytest_dra.embedded import byhand
from pytest_dra.embedded import typetable
from pytest_dra.embedded.claims import ResourceClaims
from pytest_dra.embedded.claims import ResourceClaimTemplates
from pytest_dra.embedded.classes import DeviceClasses
from pytest_dra.embedded.classes import DeviceTaintRules
from pytest_dra.embedded.labels import NAMED
from pytest_dra.embedded.labels import PLACED
from pytest_dra.embedded.labels import paths
from pytest_dra.embedded.otherkinds import other_kinds
from pytest_dra.embedded.poolstatus import PoolStatusRequests
from pytest_dra.embedded.selectors import FieldReader
from pytest_dra.embedded.served import ALPHA
from pytest_dra.embedded.served import POOL_STATUS_REQUESTS
from pytest_dra.embedded.slices import ResourceSlices
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import encode
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.embedded.verbs import ALL_VERBS
from pytest_dra.spec import Json


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One served kind.

    ``type`` names its shape in the table, ``stored`` the shape that is kept (another one for a
    second view of the same objects, then ``view`` and ``unview`` convert). ``fields`` are the
    field labels of its selectors; ``deletes_to_object``: DELETE answers the object, not a Status.
    ``stored_version`` is the version that discovery's storage hash is made of, if another one.
    ``custom`` is the version of the CustomResourceDefinition that it comes from.
    ``fails_as_core``: failures name the core group. ``deprecated`` is the warning that comes with
    every answer, ``field_path`` translates the fields of failures.
    """

    resource: Resource
    type: str
    strategy: Strategy
    fields: Mapping[str, FieldReader]
    stored: str = ""
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    deletes_to_object: bool = True
    view: Callable[[Json], Json] | None = None
    unview: Callable[[Json], Json] | None = None
    head: bytes = b""
    stored_version: str = ""
    fails_as_core: bool = False
    deprecated: str = ""
    field_path: Callable[[str], str] | None = None
    custom: Json | None = None

    @property
    def storage(self) -> str:
        """The bucket of the store that holds its objects."""
        return self.stored or self.type

    @property
    def blamed(self) -> Resource:
        """What failures of the store itself name, which keeps events as core events."""
        if not self.fails_as_core:
            return self.resource
        return dataclasses.replace(self.resource, group="")

    def shown(self, snapshot: Snapshot) -> Json:
        """The object as a client sees it, with kind and apiVersion."""
        body = self.view(snapshot.object) if self.view else snapshot.object
        return {"kind": self.resource.kind, "apiVersion": self.resource.api_version, **body}

    def encoded_item(self, snapshot: Snapshot) -> bytes:
        """The object in JSON as an item of a list."""
        return encode(self.view(snapshot.object)) if self.view else snapshot.encoded

    def encoded(self, snapshot: Snapshot) -> bytes:
        """The object in JSON with kind and apiVersion."""
        return self.head + self.encoded_item(snapshot)[1:]

    def wrap(self, obj: Json) -> Json:
        """A stored form that is no snapshot (a dry run) as a client sees it."""
        body = self.view(obj) if self.view else obj
        return {"kind": self.resource.kind, "apiVersion": self.resource.api_version, **body}


_SLICE_FIELDS: Final = paths(NAMED, "spec.nodeName", "spec.driver")


def _dra_kinds(version: KubernetesVersion) -> list[dict[str, Any]]:
    newest = paths(_SLICE_FIELDS, "spec.pool.name")
    return [
        {
            "resource": resources.DEVICE_CLASSES,
            "type": "resource.DeviceClass",
            "strategy": DeviceClasses("resource.DeviceClass"),
            "fields": PLACED,
        },
        {
            "resource": resources.DEVICE_TAINT_RULES,
            "type": "resource.DeviceTaintRule",
            "strategy": DeviceTaintRules("resource.DeviceTaintRule"),
            "fields": PLACED,
            "subresources": ("status",),
            "deletes_to_object": False,
            "stored_version": "v1beta2",
        },
        {
            "resource": resources.RESOURCE_CLAIMS,
            "type": "resource.ResourceClaim",
            "strategy": ResourceClaims("resource.ResourceClaim"),
            "fields": PLACED,
            "subresources": ("status",),
        },
        {
            "resource": resources.RESOURCE_CLAIM_TEMPLATES,
            "type": "resource.ResourceClaimTemplate",
            "strategy": ResourceClaimTemplates("resource.ResourceClaimTemplate"),
            "fields": PLACED,
        },
        {
            "resource": resources.RESOURCE_SLICES,
            "type": "resource.ResourceSlice",
            "strategy": ResourceSlices("resource.ResourceSlice"),
            "fields": newest if version.minor >= _POOL_SELECTOR_SINCE else _SLICE_FIELDS,
        },
        {
            "resource": POOL_STATUS_REQUESTS,
            "type": "resourcev1alpha3.ResourcePoolStatusRequest",
            "strategy": PoolStatusRequests("resourcev1alpha3.ResourcePoolStatusRequest"),
            "fields": NAMED,
            "subresources": ("status",),
            "deletes_to_object": False,
        },
    ]


_POOL_SELECTOR_SINCE: Final = 37
"""``spec.pool.name`` became a field label in 1.37."""


def _beta_kinds(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The older versions of the kinds of DRA: other views of the same objects."""
    found = []
    for entry in entries:
        name = entry["resource"].kind
        for version in _BETAS:
            resource = dataclasses.replace(entry["resource"], version=version)
            warning = f"{resource.api_version} {name} is deprecated; use resource.k8s.io/v1 {name}"
            if resource == entry["resource"]:
                continue
            older = {**entry, "resource": resource, "stored_version": "v1"}
            if version != ALPHA:
                older["deprecated"] = warning
            if version == "v1beta1" and name in beta.VIEWS:
                view, unview = beta.VIEWS[name]
                older |= {
                    "type": f"{beta.TYPES}.{name}",
                    "stored": entry["type"],
                    "view": view,
                    "unview": unview,
                    "field_path": beta.field_path,
                }
            found.append(older)
    return found


_BETAS: Final = ("v1beta1", "v1beta2", ALPHA)


def _of_release(entry: dict[str, Any], version: KubernetesVersion) -> dict[str, Any]:
    """A kind of DRA with the type that it had in that release."""
    older = f"resource134.{entry['resource'].kind}"
    if version.minor >= byhand.DECLARED_SINCE:
        return entry
    if not typetable.has(older):
        return {"stored_version": "v1beta2", **entry}
    strategy = type(entry["strategy"])(older)
    return {**entry, "type": older, "strategy": strategy, "stored_version": "v1beta2"}


def registry(version: KubernetesVersion) -> dict[tuple[str, str, str], Kind]:
    """All kinds of a server of this version by (group, version, plural)."""
    found: dict[tuple[str, str, str], Kind] = {}
    dra = [_of_release(entry, version) for entry in _dra_kinds(version)]
    wanted = [entry for entry in [*dra, *_beta_kinds(dra)] if entry["resource"] in version.served]
    for entry in [*wanted, *other_kinds()]:
        resource: Resource = entry["resource"]
        head = encode({"kind": resource.kind, "apiVersion": resource.api_version})[:-1] + b","
        kind = Kind(singular=resource.kind.lower(), head=head, **entry)
        found[resource.group, resource.version, resource.plural] = kind
    return found

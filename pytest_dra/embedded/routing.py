"""Paths and methods: which kind, object and verb a request is about."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from pytest_dra.embedded import errors
from pytest_dra.embedded.errors import PlainNotFound
from pytest_dra.embedded.kinds import Kind

_SEGMENTS_MAX: Final = 12
"""Path segments that any legal path stays below."""

_OBJECT_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_SUBRESOURCES: Final = {
    "status": {"GET": "get", "PUT": "update", "PATCH": "patch"},
    "binding": {"POST": "create"},
    "token": {"POST": "create"},
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A path, taken apart. ``kind`` is None for paths that name no resource of the registry.

    ``namespace`` None means all namespaces, or a cluster-scoped kind.
    """

    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str | None = None
    name: str = ""
    subresource: str = ""
    watch: bool = False
    kind: Kind | None = None


def split(path: str) -> list[str]:
    """The segments of a path; a trailing slash does not matter.

    Raises:
        PlainNotFound: there are too many.
    """
    parts = path.strip("/").split("/")
    if len(parts) > _SEGMENTS_MAX:
        raise PlainNotFound
    return parts


def resource_path(parts: list[str]) -> Route | None:
    """Take a path apart that leads to a resource; None for any other path."""
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    namespace: str | None = None
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", ""]
    if any(more):
        subresource = "/".join(part for part in rest[2:])
    return Route(
        group=group,
        version=version,
        plural=plural,
        namespace=namespace,
        name=name,
        subresource=subresource,
        watch=watch,
    )


def find(route: Route, kinds: Mapping[tuple[str, str, str], Kind]) -> Route:
    """The route with its kind.

    Raises:
        ApiError: 404, there is no such resource, scope or subresource.
    """
    kind = kinds.get((route.group, route.version, route.plural))
    if kind is None:
        raise errors.unknown_resource()
    resource = kind.resource
    wrong_scope = route.namespace is not None and not resource.namespaced
    needs_namespace = resource.namespaced and route.namespace is None and route.name
    if wrong_scope or needs_namespace:
        raise errors.unknown_resource()
    if route.subresource and route.subresource not in kind.subresources:
        raise errors.unknown_resource(resource if kind.custom else None, route.name)
    return dataclasses.replace(route, kind=kind)


def verb(route: Route, method: str, *, watch: bool) -> str:
    """The Kubernetes verb of a request.

    Raises:
        ApiError: 405.
    """
    kind = route.kind
    if route.subresource:
        found = _SUBRESOURCES[route.subresource].get(method)
    elif route.name:
        found = "watch" if method == "GET" and watch else _OBJECT_VERBS.get(method)
    else:
        found = "watch" if method == "GET" and watch else _COLLECTION_VERBS.get(method)
        across = route.namespace is None and kind is not None and kind.resource.namespaced
        if across and found in ("create", "deletecollection"):
            found = None
    if found is None or (kind is not None and not route.subresource and found not in kind.verbs):
        if kind is not None and kind.custom is not None:
            raise errors.method_not_supported(kind.resource, _COLLECTION_VERBS.get(method, method))
        raise errors.method_not_allowed()
    return found


def named_in(field_text: str) -> str:
    """The one name that a field selector leaves; "" if it leaves several."""
    for term in field_text.split(","):
        label, _, value = term.partition("=")
        if label == "metadata.name":
            return value.removeprefix("=")
    return ""

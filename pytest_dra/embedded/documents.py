"""What a server says about itself: version, health, discovery, OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from pytest_dra.embedded import negotiation
from pytest_dra.embedded import replies
from pytest_dra.embedded.discovery import AGGREGATED_TYPE
from pytest_dra.embedded.discovery import Discovery
from pytest_dra.embedded.errors import PlainNotFound
from pytest_dra.embedded.errors import unknown_resource
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.openapi import V2
from pytest_dra.embedded.openapi import V2_PROTOBUF
from pytest_dra.embedded.openapi import OpenApi
from pytest_dra.embedded.operations import Reply

_HEALTH: Final = ("healthz", "livez", "readyz")

_V2_MEDIA: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""What client-go asks ``/openapi/v2`` for; the answer is labelled with a dot, as ``@`` is none of
a media type's letters."""


class Documents:
    """All that is no resource; who may read it has been decided before."""

    def __init__(self, discovery: Discovery, kinds: Mapping[tuple[str, str, str], Kind]) -> None:
        self._discovery = discovery
        self._openapi = OpenApi(kinds)

    def reply(self, request: web.BaseRequest, parts: list[str]) -> Reply:
        """Answer a request for the path of these parts.

        Raises:
            PlainNotFound: there is nothing, or it can only be read.
            ApiError: 404, an unknown version of a group.
        """
        if parts[0] == "version":
            return replies.as_json(self._discovery.version())
        if parts[0] in _HEALTH:
            return _health(parts, verbose="verbose" in request.query)
        if request.method != "GET":
            raise PlainNotFound
        if parts[:2] == ["openapi", "v3"]:
            return self._describe("/".join(parts[2:]))
        if parts == ["openapi", "v2"]:
            return _second(request.headers.get("Accept", ""))
        if parts[0] not in ("api", "apis"):
            raise PlainNotFound
        return self._discover(request, parts)

    def _describe(self, place: str) -> Reply:
        """OpenAPI documents; the index is labelled as text, as on the real server."""
        if not place:
            return replies.as_json(self._openapi.index(), media=replies.TEXT)
        document = self._openapi.document(place)
        if document is None:
            return Reply(404, None, b"", media="")
        return replies.as_json(document)

    def _discover(self, request: web.BaseRequest, parts: list[str]) -> Reply:
        media = negotiation.accept(request.headers.get("Accept", ""))
        found = self._discovery
        core = parts[0] == "api"
        if len(parts) == 1:
            if media.discovery:
                return replies.as_json(found.aggregated(core=core), media=AGGREGATED_TYPE)
            return replies.as_json(found.api_versions() if core else found.groups())
        group = "" if core else parts[1]
        if not found.has_group(group):
            raise PlainNotFound
        if not core and len(parts) == 2:
            return replies.as_json(found.group(group))
        version = parts[1] if core else parts[2]
        if not found.has_version(group, version):
            raise unknown_resource()
        return replies.as_json(found.resources(group, version))


def _health(parts: list[str], *, verbose: bool) -> Reply:
    name = parts[0]
    text = f"[+]ping ok\n{name} check passed\n" if verbose and len(parts) == 1 else "ok"
    return Reply(200, None, text.encode(), media=replies.TEXT)


def _second(accept: str) -> Reply:
    """``/openapi/v2``, in JSON or in the protobuf that client-go asks for."""
    if accept.startswith(_V2_MEDIA):
        return Reply(200, None, V2_PROTOBUF, media=_V2_MEDIA.replace("@", "."))
    return replies.as_json(V2)

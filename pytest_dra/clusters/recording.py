"""What crosses the proxy as entries of the timeline: the request as sent, the answer as given."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl
from urllib.parse import unquote

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import negotiation
from pytest_dra.embedded import routing
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import PlainNotFound
from pytest_dra.embedded.kinds import registry
from pytest_dra.embedded.recorded import Lazy
from pytest_dra.embedded.recorded import Unread
from pytest_dra.embedded.recorded import entry
from pytest_dra.embedded.routing import Route
from pytest_dra.embedded.served import VERSIONS
from pytest_dra.embedded.served import serving
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, taken apart. ``target`` is path and query as they came, without identity."""

    identity: str
    method: str
    target: str
    verb: str
    route: Route
    body: bytes
    headers: Mapping[str, str]

    @property
    def watches(self) -> bool:
        """True if the answer is a stream of events."""
        return self.verb == "watch"


def asked(
    method: str, target: str, *, identity: str, body: bytes, headers: Mapping[str, str]
) -> Asked:
    """Take a request apart, as kube-apiserver does."""
    path, _, query = target.partition("?")
    verb, route = method.lower(), Route(name=unquote(path))
    try:
        found = routing.resource_path(routing.split(unquote(path)))
    except PlainNotFound:
        found = None
    if found is not None:
        route = found
        watching = method == "GET" and (route.watch or _wants_watch(query))
        try:
            verb = routing.verb(route, method, watch=watching)
        except (ApiError, KeyError):
            verb = method.lower()
    return Asked(
        identity=identity,
        method=method,
        target=target,
        verb=verb,
        route=route,
        body=body,
        headers=headers,
    )


def _wants_watch(query: str) -> bool:
    values = [value for key, value in parse_qsl(query, keep_blank_values=True) if key == "watch"]
    return bool(values) and values[0].lower() not in ("0", "false")


class Recorder:
    """Makes entries of requests; it knows the protobuf forms of the kinds that a version has."""

    def __init__(self, version: KubernetesVersion) -> None:
        self._kinds = registry(serving(version, VERSIONS))

    def request(
        self, what: Asked, *, code: int, answer: bytes, media: str, duration_s: float
    ) -> ApiRequest:
        """The entry of one request and its answer (empty for a stream)."""
        return entry(
            what.route,
            identity=what.identity,
            verb=what.verb,
            query=what.target.partition("?")[2],
            headers=what.headers,
            body=self._body(what),
            code=code,
            answer=_answer(answer, media),
            duration_s=duration_s,
        )

    def _body(self, what: Asked) -> Json | Lazy | None:
        route, media = what.route, what.headers.get("Content-Type", "")
        if not what.body:
            return None
        kind = self._kinds.get((route.group, route.version, route.plural))
        type_name = kind.type if kind is not None else ""
        try:
            if what.verb == "patch":
                decoded = negotiation.read_yaml(what.body)
                return decoded if isinstance(decoded, dict) else {"operations": decoded}
            if negotiation.content_type(media) == negotiation.JSON:
                negotiation.read_json(what.body)
                return Unread(what.body)
            if type_name:
                return negotiation.read_object(what.body, media, type_name, ()).sent
        except ApiError:
            return None
        return None


def _answer(text: bytes, media: str) -> Json | None:
    if not text or negotiation.content_type(media) != negotiation.JSON:
        return None
    try:
        found: Any = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None

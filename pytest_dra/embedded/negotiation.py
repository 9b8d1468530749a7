"""Media types: what a client wants to read, and reading what it sends."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from typing import Any
from typing import Final

import yaml

from pytest_dra.embedded import protobuf
from pytest_dra.embedded import raw
from pytest_dra.embedded import typed
from pytest_dra.embedded.errors import ApiError
from pytest_dra.embedded.errors import bad_request
from pytest_dra.embedded.scalars import JsonFloat
from pytest_dra.spec import Json

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
BODIES: Final = (JSON, YAML, PROTOBUF)
"""What an object may be sent as."""

BODY_MAX: Final = 3 * 1024 * 1024
"""Most bytes of a request body; above it 413."""

_ACCEPT_MAX: Final = 32
"""Media types of one Accept header that we look at."""

_SPACED_KEY: Final = re.compile(rb'"[ \t\r\n]+:')
"""The end of a name in JSON text that is not written ``":``."""

_SHAPES: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


@dataclasses.dataclass(frozen=True, slots=True)
class Media:
    """How to answer: ``type`` is JSON or YAML, ``shape`` "" or Table or PartialObjectMetadata...

    ``discovery`` is true if aggregated discovery is wanted.
    """

    type: str = JSON
    shape: str = ""
    discovery: bool = False


@functools.lru_cache(maxsize=256)
def accept(header: str) -> Media:
    """Choose from an Accept header. Protobuf is passed over: we decode it, but never encode it.

    Raises:
        ApiError: 406, nothing that the client takes is on offer.
    """
    if not header.strip():
        return Media()
    known_type = False
    for media, parameters in _clauses(header):
        if media not in (JSON, YAML, "*/*", "application/*"):
            continue
        known_type = True
        chosen = YAML if media == YAML else JSON
        shape = parameters.get("as", "")
        if not shape:
            return Media(chosen)
        if shape in _SHAPES and parameters.get("g") == "meta.k8s.io":
            if parameters.get("v") == "v1":
                return Media(chosen, shape)
        elif shape == "APIGroupDiscoveryList" and parameters.get("v") == "v2":
            return Media(chosen, "", discovery=True)
    raise ApiError(
        406,
        "NotAcceptable",
        f"only the following media types are accepted: {JSON}, {YAML}",
        details=None if known_type else {},
    )


def _clauses(header: str) -> list[tuple[str, dict[str, str]]]:
    found: list[tuple[float, str, dict[str, str]]] = []
    for part in header.split(",")[:_ACCEPT_MAX]:
        media, *rest = [piece.strip() for piece in part.split(";")]
        parameters = dict(piece.split("=", 1) for piece in rest if "=" in piece)
        try:
            weight = float(parameters.get("q", "1"))
        except ValueError:
            weight = 0.0
        found.append((weight, media.lower(), parameters))
    found.sort(key=lambda clause: -clause[0])
    return [(media, parameters) for weight, media, parameters in found if weight > 0]


@dataclasses.dataclass(frozen=True, slots=True)
class Received:
    """A decoded body: ``sent`` as the client wrote it, ``text`` its JSON text if it was JSON."""

    sent: Json
    text: bytes = b""

    def repeated(self, names: int) -> list[str]:
        """The field names that are written twice in one object, given how many there are in all.

        A name ends in ``":``, which within a string can only appear in addition; so if the text
        has no more of it than the object has names, nothing is there twice.
        """
        text = self.text
        if text.count(b'":') == names and _SPACED_KEY.search(text) is None:
            return []
        return _repeated(text) if text else []


def content_type(header: str) -> str:
    """The media type of a body without its parameters; JSON if none is given."""
    return header.split(";", 1)[0].strip().lower() or (JSON if not header.strip() else ";")


def unsupported(*known: str, patch: bool = False) -> ApiError:
    """415; ``known`` are the media types that are taken."""
    text = "415: Unsupported Media Type"
    if not patch:
        listed = f"accepted media types include: {', '.join(known or BODIES)}"
        text = f"the body of the request was in an unknown format - {listed}"
    return ApiError(415, "UnsupportedMediaType", text, details={} if patch else None)


def read_object(body: bytes, header: str, type_name: str, kinds: tuple[str, ...]) -> Received:
    """Decode a body as an object.

    Args:
        body: the bytes of the request.
        header: its Content-Type.
        type_name: the type in the table, which protobuf bytes are read as.
        kinds: group versions whose protobuf envelope is taken (empty: any).

    Raises:
        ApiError: 400 malformed, 415 unknown media type.
    """
    media = content_type(header)
    if media == JSON:
        received = read_json(body)
        if received.sent:
            raw.keep_texts(type_name, received.sent, body.decode("utf-8"))
        return received
    if media == YAML:
        return Received(_need_object(read_yaml(body)))
    if media != PROTOBUF:
        raise unsupported()
    try:
        api_version, kind, data = protobuf.envelope(body)
        if kinds and api_version and api_version not in kinds:
            return Received({"apiVersion": api_version, "kind": kind})
        decoded = protobuf.decode(type_name, data)
    except protobuf.ProtobufError as error:
        raise bad_request(f"cannot decode protobuf: {error}") from error
    names = {"apiVersion": api_version, "kind": kind}
    return Received({**{key: text for key, text in names.items() if text}, **decoded})


def read_json(body: bytes) -> Received:
    """Decode JSON.

    Raises:
        ApiError: 400.
    """
    value = load_json(body)
    return Received({} if value is None else _need_object(value), body)


def _repeated(body: bytes) -> list[str]:
    """The names that some object of a JSON text has more than once."""
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> Json:
        seen: set[str] = set()
        for name, _ in items:
            if name in seen:
                found.append(name)
            seen.add(name)
        return dict(items)

    load_json(body, pairs)
    return found


def load_json(body: bytes, pairs: Any = None) -> Any:
    """Any JSON value, with numbers that keep their spelling.

    Raises:
        ApiError: 400.
    """
    decoder = _DECODER
    if pairs is not None:
        decoder = json.JSONDecoder(
            parse_float=JsonFloat, parse_constant=_no_constant, object_pairs_hook=pairs
        )
    try:
        return decoder.decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_float=JsonFloat, parse_constant=_no_constant)
"""The ordinary case, made once."""


class _PlainLoader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: times stay text, and aliases (which can explode) are refused."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not supported")
        return super().compose_node(parent, index)

    def construct_number(self, node: yaml.ScalarNode) -> float | int:
        """A number with a point; on its way to JSON a whole one loses it."""
        value = float(self.construct_yaml_float(node))
        return int(value) if value.is_integer() and abs(value) < WHOLE_BELOW else value


WHOLE_BELOW: Final = 1e21
"""From here on Go writes a whole number with an exponent, which no integer field takes."""

_PlainLoader.add_constructor("tag:yaml.org,2002:float", _PlainLoader.construct_number)
_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(body: bytes) -> Any:
    """The value of a YAML document (JSON is YAML, too).

    Raises:
        ApiError: 400.
    """
    if body.lstrip()[:1] == b"{":
        return load_json(body)
    if _nesting(body) > NESTING_MAX:
        raise bad_request("error converting YAML to JSON: exceeded max depth")
    try:
        return yaml.load(body.decode("utf-8"), Loader=_PlainLoader)  # noqa: S506  a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise bad_request(f"error converting YAML to JSON: {error}") from error


NESTING_MAX: Final = 500
"""Brackets within brackets of a YAML document, whose reader takes a time that is their square."""


_BRACKET: Final = re.compile(rb"[\[\]{}]")


def _nesting(body: bytes) -> int:
    depth = deepest = 0
    for found in _BRACKET.finditer(body):
        if found[0] in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _need_object(value: Any) -> Json:
    if isinstance(value, dict):
        return value
    raise bad_request("couldn't get version/kind; json parse error: want an object")


def to_typed(sent: Json, type_name: str, notes: typed.Notes) -> Json:
    """The body as its type, without kind and apiVersion.

    Raises:
        ApiError: 400, a value has the wrong type.
    """
    bare = {key: value for key, value in sent.items() if key not in ("kind", "apiVersion")}
    notes.names += len(sent) - len(bare)
    try:
        return typed.read(type_name, bare, notes)
    except typed.DecodeError as error:
        raise bad_request(str(error)) from error

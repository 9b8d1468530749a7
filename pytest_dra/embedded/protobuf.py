"""Decoding of ``application/vnd.kubernetes.protobuf`` bodies; the server never encodes them.

A body is ``k8s\\0`` and an envelope {1: {1: apiVersion, 2: kind}, 2: the object's bytes}. The
result is the JSON form of the object, so that both media types meet in :mod:`typed`.
"""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any
from typing import Final

from pytest_dra.embedded import typetable
from pytest_dra.embedded.raw import RawObject
from pytest_dra.embedded.scalars import ZEROS
from pytest_dra.embedded.scalars import JsonFloat
from pytest_dra.embedded.typetable import Field
from pytest_dra.spec import Json

MAGIC: Final = b"k8s\0"
"""The first four bytes of every protobuf body of Kubernetes."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_SHIFT_MAX: Final = 63
"""A varint has ten bytes at most: seven bits each make 64."""


class ProtobufError(ValueError):
    """The bytes are no protobuf message of Kubernetes."""


def envelope(body: bytes) -> tuple[str, str, bytes]:
    """Split a body into apiVersion, kind and the object's bytes.

    Raises:
        ProtobufError: it does not begin with the magic bytes, or is cut.
    """
    if not body.startswith(MAGIC):
        raise ProtobufError("the body does not start with the Kubernetes protobuf prefix")
    api_version = kind = ""
    raw = b""
    for number, value in _fields(body[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            meta = {key: part for key, part in _fields(value) if isinstance(part, bytes)}
            api_version, kind = _text(meta.get(1, b"")), _text(meta.get(2, b""))
        elif number == 2 and isinstance(value, bytes):
            raw = value
    return api_version, kind, raw


def decode(kind: str, data: bytes) -> Json:
    """The object of table type ``kind`` as JSON data; unknown field numbers are left out.

    Raises:
        ProtobufError: the bytes are malformed.
    """
    fields = typetable.message(kind).by_number
    out: Json = {}
    for number, value in _fields(data):
        field = fields.get(number)
        if field is None:
            continue
        if field.inline:
            out.update(decode(field.message, _need_bytes(value)))
        elif field.container == "map":
            key, item = _map_entry(field, _need_bytes(value))
            out.setdefault(field.name, {})[key] = item
        elif field.container == "list":
            items = out.setdefault(field.name, [])
            if isinstance(value, bytes) and field.base in ("int32", "int64", "bool"):
                items.extend(_scalar(field, part) for part in _packed(value))
            else:
                items.append(_value(field, value))
        else:
            item = _value(field, value)
            if item is not None and (field.pointer or item != ZEROS.get(field.base, out)):
                out[field.name] = item
    return out


def _map_entry(field: Field, data: bytes) -> tuple[str, Any]:
    key: str = ""
    item: Any = {} if field.base == "message" else ZEROS[field.base]
    for number, value in _fields(data):
        if number == 1:
            key = _text(_need_bytes(value))
        elif number == 2:
            item = _value(field, value)
    return key, item


def _value(field: Field, value: bytes | int) -> Any:
    if field.base == "message":
        return decode(field.message, _need_bytes(value))
    return _scalar(field, value)


def _scalar(field: Field, value: bytes | int) -> Any:
    base = field.base
    if base == "string":
        return _text(_need_bytes(value))
    if base in ("int64", "int32"):
        return _signed(_need_int(value))
    if base == "bool":
        return _need_int(value) != 0
    if base == "bytes":
        return base64.b64encode(_need_bytes(value)).decode()
    if base == "strings":
        return [_text(_need_bytes(part)) for _, part in _fields(_need_bytes(value))]
    parts = dict(_fields(_need_bytes(value)))
    if base == "quantity":
        return _text(_need_bytes(parts.get(1, b"0")))
    if base in ("time", "microtime"):
        return _time(parts, micro=base == "microtime")
    if base in ("raw", "fields"):
        return _json(_need_bytes(parts.get(1, b"null")))
    if base == "intorstr":
        if parts.get(1, 0):
            return _text(_need_bytes(parts.get(3, b"")))
        return _signed(_need_int(parts.get(2, 0)))
    raise ProtobufError(f"field {field.name}: numbers of type {base} are not supported")


def _time(parts: dict[int, bytes | int], *, micro: bool) -> str | None:
    seconds, nanos = _signed(_need_int(parts.get(1, 0))), _need_int(parts.get(2, 0))
    if seconds == 0 and nanos == 0:
        return None
    try:
        moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    except (OverflowError, OSError, ValueError) as error:
        raise ProtobufError(f"time out of range: {seconds} s") from error
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06d}Z" if micro else f"{text}Z"


def _json(data: bytes) -> Any:
    try:
        value = json.loads(data, parse_float=JsonFloat) if data else None
        return RawObject(value, data.decode()) if isinstance(value, dict) else value
    except (ValueError, RecursionError) as error:
        raise ProtobufError(f"raw JSON inside the message: {error}") from error


def _need_bytes(value: bytes | int) -> bytes:
    if isinstance(value, bytes):
        return value
    raise ProtobufError("a number where bytes are expected")


def _need_int(value: bytes | int) -> int:
    if isinstance(value, int):
        return value
    raise ProtobufError("bytes where a number is expected")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProtobufError("text that is not UTF-8") from error


def _packed(data: bytes) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift <= _SHIFT_MAX:
        if at >= len(data):
            raise ProtobufError("the message ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise ProtobufError("a number is longer than ten bytes")


def _fields(data: bytes) -> list[tuple[int, bytes | int]]:
    """Every field of one message as (number, value)."""
    out: list[tuple[int, bytes | int]] = []
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        wire = tag & 7
        value: bytes | int
        if wire == _VARINT:
            value, at = _varint(data, at)
        else:
            if wire == _BYTES:
                size, at = _varint(data, at)
            elif wire in (_FIXED32, _FIXED64):
                size = 4 if wire == _FIXED32 else 8
            else:
                raise ProtobufError(f"unsupported wire type {wire}")
            value = data[at : at + size]
            if len(value) != size:
                raise ProtobufError("the message is shorter than it says")
            at += size
        out.append((tag >> 3, value))
    return out

"""The well-known messages that a literal can build."""

from __future__ import annotations

import math
import struct
from typing import Any
from typing import Final

from pytest_dra.cel import types
from pytest_dra.cel import work
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.types import CelType
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import INT_MIN
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import Duration
from pytest_dra.cel.values import Empty
from pytest_dra.cel.values import Timestamp
from pytest_dra.cel.values import Uint

_PREFIX: Final = "google.protobuf."
_NANOS: Final = 10**9
_JSON: Final = types.map_of(types.STRING, types.DYN)
_JSON_LIST: Final = types.list_of(types.DYN)
_INT32: Final = 2**31
_UINT32: Final = 2**32
_DEPTH_MAX: Final = 100
"""Nesting of JSON values that is followed; literals cannot be deeper."""

_WRAPPED: Final = {
    "BoolValue": types.BOOL, "BytesValue": types.BYTES, "DoubleValue": types.DOUBLE,
    "FloatValue": types.DOUBLE, "Int32Value": types.INT, "Int64Value": types.INT,
    "StringValue": types.STRING, "UInt32Value": types.UINT, "UInt64Value": types.UINT,
}  # fmt: skip
_TIME: Final = {"seconds": types.INT, "nanos": types.INT}
_FIELDS: Final[dict[str, dict[str, CelType]]] = {
    "Duration": _TIME,
    "Timestamp": _TIME,
    "Empty": {},
    "Any": {"type_url": types.STRING, "value": types.BYTES},
    "Struct": {"fields": _JSON},
    "ListValue": {"values": _JSON_LIST},
    "Value": {
        "null_value": types.INT, "number_value": types.DOUBLE, "string_value": types.STRING,
        "bool_value": types.BOOL, "struct_value": _JSON, "list_value": _JSON_LIST,
    },
    **{name: {"value": kind} for name, kind in _WRAPPED.items()},
}  # fmt: skip
_TYPES: Final = {
    "Duration": types.DURATION, "Timestamp": types.TIMESTAMP, "Any": types.ANY, "Value": types.DYN,
    "Struct": _JSON, "ListValue": _JSON_LIST, "Empty": CelType("struct", _PREFIX + "Empty"),
    **{
        name: CelType(kind.kind, kind.name, nullable=True) for name, kind in _WRAPPED.items()
    },
}  # fmt: skip

TYPES: Final = {_PREFIX + name: kind for name, kind in _TYPES.items()}
"""Message name to the type that its literal has."""

FIELDS: Final = {_PREFIX + name: fields for name, fields in _FIELDS.items()}
"""Message name to its fields and their types."""


def build(name: str, fields: dict[str, object]) -> object:
    """The value of a literal, a CelError if a field does not fit."""
    short = name[len(_PREFIX) :]
    if name == types.DEVICE.name:
        return CelError("other", f"{name} cannot be built")
    if short in ("Duration", "Timestamp"):
        return _time(short, fields)
    if short == "Empty":
        return Empty()
    if short == "Any":
        return CelError("conversion", "google.protobuf.Any has no value of its own")
    if short == "Value":
        return _value(fields)
    if short in ("Struct", "ListValue"):
        whole = fields.get("fields" if short == "Struct" else "values")
        return _json(whole if whole is not None else CelMap() if short == "Struct" else [], 0)
    return _wrapped(short, fields)


def _time(short: str, fields: dict[str, Any]) -> object:
    seconds, nanos = fields.get("seconds", 0), fields.get("nanos", 0)
    if seconds.__class__ is not int or nanos.__class__ is not int:
        return CelError("conversion", f"{short} takes whole numbers")
    if not -_INT32 <= nanos < _INT32:
        return CelError("overflow", "nanos: integer overflow")
    if short == "Duration":
        total = seconds * _NANOS + nanos
        return Duration(max(INT_MIN, min(INT_MAX, total)))
    return Timestamp(seconds + nanos // _NANOS, nanos % _NANOS)


def _value(fields: dict[str, object]) -> object:
    made: object = None
    for name, value in fields.items():
        made = None if name == "null_value" else _json(value, 0)
    return made


def _wrapped(short: str, fields: dict[str, Any]) -> object:
    kind = _WRAPPED[short]
    if "value" not in fields:
        return {"bool": False, "bytes": b"", "double": 0.0, "int": 0, "string": "",
                "uint": Uint(0)}[kind.name]  # fmt: skip
    value: Any = fields["value"]
    wanted = {"bool": bool, "bytes": bytes, "double": float, "int": int, "string": str,
              "uint": Uint}[kind.name]  # fmt: skip
    if not _is_exactly(value, wanted):
        return CelError("conversion", f"{short} takes a value of type {kind.name}")
    if short == "FloatValue":
        return _single(value)
    if short == "Int32Value" and not -_INT32 <= value < _INT32:
        return CelError("overflow", "Int32Value: integer overflow")
    if short == "UInt32Value" and value >= _UINT32:
        return CelError("overflow", "UInt32Value: unsigned integer overflow")
    return value


def _is_exactly(value: object, kind: type) -> bool:
    return value.__class__ is kind


def _single(value: float) -> object:
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        rounded = math.copysign(math.inf, value)
    return rounded


def _json(value: object, depth: int) -> object:
    """``value`` as a JSON value: numbers become doubles."""
    if depth > _DEPTH_MAX:
        return CelError("conversion", "nested too deeply")
    if value is None or value.__class__ in (bool, float, str):
        return value
    if isinstance(value, int):
        return float(value) if abs(value) < 2**53 else str(int(value))
    if isinstance(value, (list, CelMap)):
        work.spend(len(value))
    if isinstance(value, list):
        items = [_json(item, depth + 1) for item in value]
        return next((item for item in items if isinstance(item, CelError)), items)
    if isinstance(value, CelMap):
        made = CelMap()
        made.textual = True
        for key, item in value.items():
            part = _json(item, depth + 1)
            if isinstance(part, CelError):
                return part
            made.put(key if isinstance(key, str) else str(key), part)
        return made
    return CelError("conversion", "no JSON value")

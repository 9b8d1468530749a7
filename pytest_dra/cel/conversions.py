"""Conversions between types: ``int()``, ``string()`` and the like."""

from __future__ import annotations

import math
import re
from typing import Any
from typing import Final

from pytest_dra.cel import formatted
from pytest_dra.cel import times
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.operations import type_name
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import INT_MIN
from pytest_dra.cel.values import UINT_MAX
from pytest_dra.cel.values import Duration
from pytest_dra.cel.values import Timestamp
from pytest_dra.cel.values import TypeValue
from pytest_dra.cel.values import Uint

_LONG: Final = re.compile(r"([+-]?)0*([0-9]{0,40})")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_SPECIAL: Final = re.compile(r"([+-]?)(inf|infinity)|nan", re.IGNORECASE)
_SEPARATED: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_SEPARATED_HEX: Final = re.compile(r"(?:(?<=[0-9a-fA-F])|(?<=0[xX]))_(?=[0-9a-fA-F])")
"""Underscores that may stand between digits."""
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
_INT_BOUND: Final = float(2**63)
_UINT_BOUND: Final = float(2**64)
_TEXT_MAX: Final = 2000
"""Longest number that is read from text, so that none takes long."""


def _failed(value: Any, wanted: str) -> CelError:
    return CelError("conversion", f"{type_name(value)} {_shown(value)} is no {wanted}")


def _shown(value: Any) -> str:
    return repr(value)[:60] if isinstance(value, (str, bytes, int, float)) else ""


def to_int(value: Any) -> object:
    """``int(value)``."""
    if isinstance(value, str):
        return _int_text(value)
    if isinstance(value, float):
        if math.isnan(value) or value <= -_INT_BOUND or value >= _INT_BOUND:
            return CelError("overflow", "integer overflow")
        return int(value)
    if isinstance(value, Uint):
        return int(value) if value <= INT_MAX else CelError("overflow", "integer overflow")
    if isinstance(value, Duration):
        return value.nanos
    return value.seconds if isinstance(value, Timestamp) else value


def _int_text(text: str) -> object:
    match = _LONG.fullmatch(text) if text.lstrip("+-") else None
    if match is None or not text.isascii():
        return _failed(text, "int")
    number = int(match[2] or "0") * (-1 if match[1] == "-" else 1)
    return number if INT_MIN <= number <= INT_MAX else _failed(text, "int")


def to_uint(value: Any) -> object:
    """``uint(value)``."""
    if isinstance(value, str):
        match = _LONG.fullmatch(value) if value else None
        if match is None or match[1] or int(match[2] or "0") > UINT_MAX:
            return _failed(value, "uint")
        return Uint(int(match[2] or "0"))
    if isinstance(value, float):
        if math.isnan(value) or value < 0 or value >= _UINT_BOUND:
            return CelError("overflow", "unsigned integer overflow")
        return Uint(int(value))
    if value.__class__ is int:
        if value < 0:
            return CelError("overflow", "unsigned integer overflow")
        return Uint(value)
    return value


def to_double(value: Any) -> object:
    """``double(value)``."""
    if isinstance(value, str):
        return _double_text(value)
    return float(value) if isinstance(value, int) else value


def _double_text(text: str) -> object:
    if len(text) > _TEXT_MAX:
        return _failed(text, "double")
    if "_" in text:
        hexadecimal = text.lstrip("+-")[:2] in ("0x", "0X")
        bare = (_SEPARATED_HEX if hexadecimal else _SEPARATED).sub("", text)
        text = text if "_" in bare else bare
    if _DECIMAL.fullmatch(text):
        number = float(text)
    elif _HEX.fullmatch(text):
        try:
            number = float.fromhex(text)
        except OverflowError:
            return _failed(text, "double")
    elif _SPECIAL.fullmatch(text):
        return float(text)
    else:
        return _failed(text, "double")
    return _failed(text, "double") if math.isinf(number) else number


def to_bool(value: Any) -> object:
    """``bool(value)``."""
    if isinstance(value, str):
        found = _BOOLS.get(value)
        return _failed(value, "bool") if found is None else found
    return value


def to_bytes(value: Any) -> object:
    """``bytes(value)``."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else value


def to_string(value: Any) -> object:
    """``string(value)``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return formatted.double_text(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return CelError("other", "invalid UTF-8 in bytes")
    if isinstance(value, Duration):
        return times.duration_text(value)
    if isinstance(value, Timestamp):
        return times.timestamp_text(value)
    return value if isinstance(value, str) else str(value)


def to_duration(value: Any) -> object:
    """``duration(value)``."""
    return times.duration_of(value) if isinstance(value, str) else value


def to_timestamp(value: Any) -> object:
    """``timestamp(value)``."""
    if isinstance(value, str):
        return times.timestamp_of(value)
    return times.from_seconds(value) if isinstance(value, int) else value


def to_type(value: Any) -> object:
    """``type(value)``."""
    return TypeValue(type_name(value))

"""What a YAML scalar means to the library: text, number, boolean or nothing.

1.1.0 reads YAML 1.1 (``yes`` is true, ``010`` is 8), 1.1.2 only knows ``true`` and ``false``.
Dates stay text in both. Source: recordings of the library.
"""

from __future__ import annotations

import base64
import binascii
import decimal
import math
import re
import struct

from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.errors import shown
from pytest_dra.cdi.library import Library

Value = bool | int | float | str | None

TRUE_WORDS = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
FALSE_WORDS = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_NAN = frozenset({".nan", ".NaN", ".NAN"})
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

_TAG_PREFIX = "tag:yaml.org,2002:"
_RESOLVED_TAGS = frozenset({"bool", "int", "float", "null", "timestamp"})

MAXIMUM_NUMBER_LENGTH = 400
"""Longer digits than any 64 bit number or float has; longer scalars are text, as out of range."""

_INT64_MIN = -(2**63)
_UINT64_MAX = 2**64 - 1


def resolve(text: str, *, tag: str | None, plain: bool, library: Library) -> Value:
    """The value of a scalar; ``plain`` is a scalar without quotes and without tag."""
    name = (tag or "").removeprefix(_TAG_PREFIX)
    if name == "binary":
        return _binary(text)
    if name in _RESOLVED_TAGS:
        return _tagged(text, name, library)
    if not plain:
        return text
    return _plain(text, library)


def _plain(text: str, library: Library) -> Value:
    if text in _NULL:
        return None
    if text in _TRUE or (library is Library.V1_1_0 and text in TRUE_WORDS):
        return True
    if text in _FALSE or (library is Library.V1_1_0 and text in FALSE_WORDS):
        return False
    if text in _NAN:
        return math.nan
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return -math.inf if infinite[1] == "-" else math.inf
    if len(text) <= MAXIMUM_NUMBER_LENGTH and text[0] in "+-.0123456789":
        number = _number(text)
        if number is not None:
            return number
    return text


def _number(text: str) -> int | float | None:
    digits = text if text[0] == "." else text.replace("_", "")
    match = _INTEGER.fullmatch(digits)
    if match:
        value = _integer(match[2])
        signed = -value if match[1] == "-" else value
        if _INT64_MIN <= signed <= (_UINT64_MAX if not match[1] else 2**63 - 1):
            return signed
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return None if math.isinf(number) else number
    return None


def _integer(digits: str) -> int:
    prefix = digits[:2].lower()
    if prefix in ("0x", "0b", "0o"):
        return int(digits, 0)
    return int(digits, 8 if digits.startswith("0") else 10)


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split("\n")), validate=True).decode(errors="replace")
    except binascii.Error as error:
        raise CdiError(f"!!binary {shown(text)}: {error}", reason="syntax") from None


def _tagged(text: str, name: str, library: Library) -> Value:
    value = _plain(text, library)
    if name == "float" and type(value) is int:
        return float(value)
    wanted = {"bool": bool, "int": int, "float": float, "null": type(None), "timestamp": str}
    if type(value) is not wanted[name]:
        raise CdiError(
            f"{shown(text)}: got no {name}, want one after !!{name}", reason="wrong-type"
        )
    return value


def as_text(value: Value) -> str:
    """A value where the spec has a string, as 1.1.0 writes it: ``1e3`` is ``1000``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    return str(value)


_EXPONENT_POWER = 6
"""Go writes a float with an exponent from this power of ten on,"""

_LEAST_POWER = -4
"""and below this one."""

_SINGLE_DIGITS = 9
"""Decimal digits that tell any two floats of 32 bits apart."""


def _float_text(value: float) -> str:
    """The shortest text of a float of 32 bits: the precision that the library keeps."""
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isnan(single):
        return "NaN"
    if math.isinf(single):
        return "+Inf" if single > 0 else "-Inf"
    sign, digits, exponent = decimal.Decimal(_shortest(single)).normalize().as_tuple()
    minus = "-" if sign else ""
    if single == 0 or not isinstance(exponent, int):
        return f"{minus}0"
    power = len(digits) + exponent - 1
    text = "".join(map(str, digits))
    if _LEAST_POWER <= power < _EXPONENT_POWER:
        return minus + format(decimal.Decimal(_shortest(abs(single))).normalize(), "f")
    rest = f".{text[1:]}" if len(text) > 1 else ""
    return f"{minus}{text[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _shortest(single: float) -> str:
    packed = struct.pack("f", single)
    for digits in range(1, _SINGLE_DIGITS):
        text = f"{single:.{digits}g}"
        if struct.pack("f", float(text)) == packed:
            return text
    return f"{single:.{_SINGLE_DIGITS}g}"

"""Reading scalars of API objects from JSON: types are strict, quantities and times canonical."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from typing import Final

from pytest_dra.api.quantity import QuantityError
from pytest_dra.api.quantity import canonical

_INT64: Final = 2**63
_INT32: Final = 2**31

_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", re.ASCII
)


_NUMBER: Final = re.compile(r"[0-9]{1,20}")
"""What may be an unsigned integer of 64 bits."""


def is_number(text: str) -> bool:
    """True for an unsigned decimal number; other alphabets' digits are none."""
    return _NUMBER.fullmatch(text) is not None and int(text) < 1 << 64


class ScalarError(ValueError):
    """The JSON value does not fit the field; the text says why."""


class JsonFloat(float):
    """A JSON number with fraction or exponent, which keeps its spelling for quantities."""

    text: str

    def __new__(cls, text: str) -> JsonFloat:
        """Made by ``json.loads(..., parse_float=JsonFloat)``."""
        self = super().__new__(cls, text)
        self.text = text
        return self


def _name(value: object) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "bool", int: "number"}
    return names.get(type(value), "number")


def read_string(value: Any) -> str:
    """A string, nothing else."""
    if type(value) is str:
        return value
    raise ScalarError(f"cannot read {_name(value)} as string")


def read_bool(value: Any) -> bool:
    """True or false, nothing else."""
    if value is True or value is False:
        return bool(value)
    raise ScalarError(f"cannot read {_name(value)} as bool")


def read_int64(value: Any) -> int:
    """A number written as an integer that fits 64 bits."""
    if type(value) is int and -_INT64 <= value < _INT64:
        return value
    raise ScalarError(f"cannot read {_name(value)} {str(value)[:30]} as int64")


def read_int32(value: Any) -> int:
    """A number written as an integer that fits 32 bits."""
    if type(value) is int and -_INT32 <= value < _INT32:
        return value
    raise ScalarError(f"cannot read {_name(value)} {str(value)[:30]} as int32")


def read_float(value: Any) -> float:
    """Any number."""
    if type(value) is int or isinstance(value, float):
        return float(value)
    raise ScalarError(f"cannot read {_name(value)} as number")


def read_bytes(value: Any) -> str:
    """Base64, which stays text."""
    text = read_string(value)
    try:
        base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ScalarError(f"illegal base64: {error}") from error
    return text


def read_quantity(value: Any) -> str:
    """A quantity in its canonical form."""
    if isinstance(value, JsonFloat):
        value = value.text
    elif type(value) is not str and type(value) is not int:
        raise ScalarError(f"cannot read {_name(value)} as quantity")
    try:
        return canonical(value)
    except QuantityError as error:
        raise ScalarError(str(error)) from error


def _moment(value: Any) -> tuple[datetime.datetime, str]:
    text = read_string(value)
    match = _TIME.fullmatch(text)
    if match is None:
        raise ScalarError(f"cannot read {text[:40]!r} as RFC 3339 time")
    stamp, fraction, zone = match.groups()
    try:
        moment = datetime.datetime.fromisoformat(stamp + ("+00:00" if zone == "Z" else zone))
    except ValueError as error:
        raise ScalarError(f"cannot read {text[:40]!r} as RFC 3339 time") from error
    return moment.astimezone(datetime.timezone.utc), fraction or ""


def read_time(value: Any) -> str:
    """RFC 3339 in UTC with whole seconds; fractions are cut."""
    moment, _ = _moment(value)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def read_microtime(value: Any) -> str:
    """RFC 3339 in UTC with six decimals, which must be there."""
    moment, fraction = _moment(value)
    if len(fraction) != 6:
        raise ScalarError(f"cannot read {value[:40]!r} as time with microseconds")
    return moment.strftime(f"%Y-%m-%dT%H:%M:%S.{fraction}Z")


def read_int_or_string(value: Any) -> int | str:
    """A 32 bit integer or a string."""
    return value if type(value) is str else read_int32(value)


def read_any(value: Any) -> Any:
    """Free JSON (opaque parameters, status data)."""
    return value


def read_strings(value: Any) -> list[str]:
    """A list of strings as the value of a map."""
    if not isinstance(value, list):
        raise ScalarError("want a list of strings")
    return [read_string(part) for part in value]


READERS: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "string": read_string,
        "bool": read_bool,
        "int64": read_int64,
        "int32": read_int32,
        "float64": read_float,
        "bytes": read_bytes,
        "quantity": read_quantity,
        "time": read_time,
        "microtime": read_microtime,
        "intorstr": read_int_or_string,
        "strings": read_strings,
        "raw": read_any,
        "fields": read_any,
    }
)
"""How each scalar type of the table is read."""

ZEROS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "string": "",
        "bool": False,
        "int64": 0,
        "int32": 0,
        "float64": 0,
        "bytes": "",
        "quantity": "0",
        "time": None,
        "microtime": None,
        "intorstr": 0,
        "strings": None,
        "raw": None,
        "fields": None,
    }
)
"""What each scalar type is when nothing was sent."""


def now(*, micro: bool = False) -> str:
    """The present as the server writes it: whole seconds, or with six decimals."""
    moment = datetime.datetime.now(datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")

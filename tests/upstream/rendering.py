"""CEL values in the form in which the oracle shows them."""

from __future__ import annotations

import math
from typing import Any

from pytest_dra.cel import formatted
from pytest_dra.cel import times
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.namedformats import FormatValue
from pytest_dra.cel.opaque import QuantityValue
from pytest_dra.cel.opaque import SemVer
from pytest_dra.cel.operations import type_name
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import Duration
from pytest_dra.cel.values import Empty
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import Timestamp
from pytest_dra.cel.values import TypeValue


def rendered(value: object) -> Any:
    """One-entry object: name of the type to the value."""
    if isinstance(value, bool) or value is None:
        return {"null" if value is None else "bool": value}
    if isinstance(value, int):
        return {type_name(value): str(int(value))}
    if isinstance(value, float):
        return {"double": formatted.double_text(value)}
    if isinstance(value, str):
        return {"string": _messages(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, list):
        return {"list": [rendered(item) for item in value]}
    if isinstance(value, CelMap):
        # The oracle looks keys up again, and finds none under NaN.
        pairs = [
            [rendered(key), {"error": None} if is_nan(key) else rendered(item)]
            for key, item in value.items()
        ]
        return {"map": sorted(pairs, key=lambda pair: _order(pair[0]))}
    return _other(value)


def _order(key: dict[str, Any]) -> str:
    """Go prints a map of one entry as map[name:value], and sorts by that."""
    return "".join(f"map[{name}:{value}]" for name, value in key.items())


def _messages(text: str) -> str:
    return text


def _other(value: object) -> Any:
    if isinstance(value, CelError):
        return {"error": None}
    if isinstance(value, Optional):
        return {"optional": rendered(value.value) if value.has_value else None}
    if isinstance(value, Timestamp):
        return {"timestamp": times.timestamp_text(value, utc=True)}
    if isinstance(value, Duration):
        return {"duration": str(value.nanos)}
    if isinstance(value, TypeValue):
        return {"type": value.name}
    if isinstance(value, QuantityValue):
        return {"quantity": str(value)}
    if isinstance(value, SemVer):
        return {"semver": str(value)}
    if isinstance(value, FormatValue):
        return {type_name(value): None}
    return {type_name(value): "" if isinstance(value, Empty) else str(value)}


def is_nan(value: object) -> bool:
    """True for NaN."""
    return isinstance(value, float) and math.isnan(value)

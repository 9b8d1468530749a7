"""What a call costs at run time, from its arguments and its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.cel import work
from pytest_dra.cel.errors import InternalFailure
from pytest_dra.cel.namedformats import FormatValue
from pytest_dra.cel.opaque import CidrValue
from pytest_dra.cel.opaque import IpValue
from pytest_dra.cel.opaque import QuantityValue
from pytest_dra.cel.opaque import SemVer
from pytest_dra.cel.sizes import AUTHORIZATION
from pytest_dra.cel.sizes import CHECK_COST
from pytest_dra.cel.sizes import LIST_COST
from pytest_dra.cel.sizes import REGEX_FACTOR
from pytest_dra.cel.sizes import STRING_FACTOR
from pytest_dra.cel.sizes import fixed
from pytest_dra.cel.sizes import selector_cost
from pytest_dra.cel.urls import UrlValue
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import Optional

Cost = Callable[[list[object], object], int]

CHANGED: Final = 37
"""Release that charges some functions differently."""


def size(value: Any) -> int:
    """The size by which a value is charged, 1 for what has none."""
    if value.__class__ is str:
        return len(value)
    if isinstance(value, (list, CelMap, bytes)):
        return len(value)
    if isinstance(value, (IpValue, CidrValue)):
        return value.size
    return 1


def _inner_size(value: Any) -> int:
    while isinstance(value, Optional) and value.has_value:
        value = value.value
    return size(value)


def _chars(count: int, factor: float = STRING_FACTOR) -> int:
    return math.ceil(float(count) * factor)


def _unit(_args: list[object], _result: Any) -> int:
    return 1


def _first(args: list[object], _result: Any) -> int:
    return _chars(size(args[0]))


def _twice(args: list[object], _result: Any) -> int:
    return math.ceil(float(size(args[0])) * 2 * STRING_FACTOR)


def _joined(_args: list[object], result: Any) -> int:
    return math.ceil(float(size(result)) * 2 * STRING_FACTOR)


def _traversal(value: Any) -> int:
    if isinstance(value, str):
        return int(float(len(value.encode("utf-8", "replace"))) * STRING_FACTOR)
    if isinstance(value, bytes):
        return int(float(len(value)) * STRING_FACTOR)
    if isinstance(value, list):
        work.spend(len(value))
        return sum(map(_traversal, value))
    if isinstance(value, CelMap):
        work.spend(len(value))
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def _traversed(args: list[object], _result: Any) -> int:
    return _traversal(args[0]) if args else 0


def _pattern(text: int, pattern: int) -> int:
    return math.ceil((1.0 + float(text)) * STRING_FACTOR) * _chars(pattern, REGEX_FACTOR)


def _find(args: list[object], _result: Any) -> int:
    return _pattern(size(args[0]), size(args[1]))


def _contains_ip(args: list[object], *, parses: bool) -> int:
    cost = _chars(size(args[0]) * 2)
    return cost + _chars(size(args[1])) if parses else cost


def _contains_cidr(args: list[object], *, parses: bool) -> int:
    return _contains_ip(args, parses=parses) + _chars(size(args[0])) + 1


def _check(_args: list[object], _result: Any) -> int:
    return CHECK_COST


def _selector(args: list[object], _result: Any) -> int:
    return selector_cost(fixed(size(args[1]))).high


def _validate(args: list[object], _result: Any) -> int:
    if not isinstance(args[0], FormatValue):
        return 1
    return _pattern(size(args[1]), args[0].cost_size)


_BY_FUNCTION: Final[dict[str, Cost]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversed),
    **dict.fromkeys(
        (
            "url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR",
            "quantity", "isQuantity", "semver", "isSemver",
        ),
        _first,
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _twice),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(
        (
            "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isGlobalUnicast",
            "isLinkLocalMulticast", "isLinkLocalUnicast", "format.named", "sign", "asInteger",
            "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add",
            "sub", "major", "minor", "patch", "getScheme", "getHostname", "getHost", "getPort",
            "getEscapedPath", "getQuery", *AUTHORIZATION,
        ),
        _unit,
    ),
    "check": _check, "fieldSelector": _selector, "labelSelector": _selector,
    "join": _joined, "validate": _validate,
}  # fmt: skip


def _number(value: Any) -> int:
    return int(value)


def _listing(factor: float, count: int) -> int:
    product = float(count) * factor if factor >= 0 else float(count)
    # What does not fit 64 bits becomes half of them on the machines that Kubernetes runs on.
    return (2**63 if product >= 2.0**64 else int(product)) + 1 + LIST_COST


def _result_size(_args: list[object], result: Any) -> int:
    return _listing(1.0, size(result))


def _flatten(args: list[object], _result: Any) -> int:
    if len(args) == 2 and args[1].__class__ is not int:
        raise InternalFailure("the level of flatten is no int")
    return _listing(float(_number(args[1])) if len(args) == 2 else 1.0, size(args[0]))


def _flatten_136(args: list[object], _result: Any) -> int:
    if len(args) == 2 and args[1].__class__ is not int:
        raise InternalFailure("the level of flatten is no int")
    product = (float(_number(args[1])) if len(args) == 2 else 1.0) * size(args[0])
    fits = -(2.0**63) <= product < 2.0**64
    return ((int(product) if fits else 2**63) + 1 + LIST_COST) % 2**64


def _compared(values: Any) -> int:
    if not isinstance(values, list):
        raise InternalFailure("no list to compare")
    if not values:
        return _listing(2.0, 0)
    strings = isinstance(values[0], (str, bytes))
    return _listing(2.0 + STRING_FACTOR if strings else 2.0, len(values) ** 2)


def _sets(factor: float) -> Cost:
    return lambda args, _result: 1 + int(float(size(args[0]) * size(args[1])) * factor)


def _sorts() -> dict[str, Cost]:
    made: dict[str, Cost] = {}
    for name in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
        made[f"list_{name}_sort"] = lambda args, _result: _compared(args[0])
        made[f"list_{name}_sort_by_keys"] = lambda args, _result: _compared(args[1])
    return made


_FIRST_CALLS: Final[dict[str, Cost]] = {
    "list_sets_contains_list": _sets(1), "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2), "list_slice": _result_size, "list_flatten": _flatten,
    "list_flatten_int": _flatten, "lists_range": _result_size, "list_reverse": _result_size,
    "list_distinct": lambda args, _result: _compared(args[0]), **_sorts(),
    "cidr_contains_ip_string": lambda args, _result: _contains_ip(args, parses=True),
    "cidr_contains_ip_ip": lambda args, _result: _contains_ip(args, parses=False),
    "cidr_contains_cidr_string": lambda args, _result: _contains_cidr(args, parses=True),
    "cidr_contains_cidr": lambda args, _result: _contains_cidr(args, parses=False),
    "cidr_ip": _unit, "string_to_ip": _first,
}  # fmt: skip
_BY_NAME_ONLY: Final[dict[str, Cost]] = {
    "containsIP": lambda args, _result: _contains_ip(args, parses=False),
    "containsCIDR": lambda args, _result: _contains_cidr(args, parses=False),
    "ip": _first,
}
"""For calls whose overload is only known at run time."""


def _smaller(args: list[object], _result: Any) -> int:
    return _chars(min(_inner_size(args[0]), _inner_size(args[1])))


def _both(args: list[object], _result: Any) -> int:
    return _chars(_inner_size(args[0]) + _inner_size(args[1]))


def _contained(args: list[object], _result: Any) -> int:
    return _chars(_inner_size(args[0])) * _chars(_inner_size(args[1]))


def _matches(args: list[object], _result: Any) -> int:
    return _pattern(_inner_size(args[0]), _inner_size(args[1]))


def _argument(index: int) -> Cost:
    return lambda args, _result: _chars(_inner_size(args[index]))


_OPAQUE: Final = (QuantityValue, IpValue, CidrValue, FormatValue, UrlValue, SemVer)


def _equality(args: list[object], result: Any) -> int:
    return 1 if isinstance(args[0], _OPAQUE) else _smaller(args, result)


_STANDARD: Final[dict[str, Cost]] = {
    **{
        f"{word}_{kind}": _smaller
        for word in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
    "equals": _equality, "not_equals": _smaller, "add_string": _both, "add_bytes": _both,
    "matches_string": _matches, "contains_string": _contained,
    "in_list": lambda args, _result: _inner_size(args[1]),
    "string_to_bytes": _argument(0), "bytes_to_string": _argument(0),
    "strings_quote": _argument(0), "string_format": _argument(0),
}  # fmt: skip


def cost_of(function: str, overload: str, minor: int) -> Cost:
    """How a call is charged; ``overload`` is "" if only run time decides."""
    if function == "flatten" and minor < CHANGED:
        return _flatten_136
    found = _FIRST_CALLS.get(overload) or _BY_FUNCTION.get(function)
    if found is None:
        found = _BY_NAME_ONLY.get(function) or _STANDARD.get(overload)
    if found is not None:
        return found
    if function == "includes" and minor >= CHANGED:
        return _traversed
    if overload in ("starts_with_string", "ends_with_string"):
        return _argument(1 if minor >= CHANGED else 0)
    return _matches if overload == "matches" and minor >= CHANGED else _unit

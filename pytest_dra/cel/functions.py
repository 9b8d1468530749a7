"""What functions do, by id of overload, or by name where one serves all overloads."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.cel import conversions
from pytest_dra.cel import format as formats
from pytest_dra.cel import formatted
from pytest_dra.cel import lists
from pytest_dra.cel import opaque
from pytest_dra.cel import operations
from pytest_dra.cel import strings
from pytest_dra.cel import times
from pytest_dra.cel import urls
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import no_overload
from pytest_dra.cel.namedformats import FORMATS
from pytest_dra.cel.opaque import CidrValue
from pytest_dra.cel.opaque import IpValue
from pytest_dra.cel.opaque import QuantityValue
from pytest_dra.cel.types import CelType
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import NONE
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import Duration
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import Timestamp
from pytest_dra.cel.values import Uint

Function = Callable[..., Any]

FIRST_CHECKED: Final = 37
"""Release from which offsets are clamped and ranges checked."""


def fits(kind: CelType, value: object) -> bool:
    """True if a value may be an argument of this type; of lists and maps one entry is looked at."""
    if kind.kind in ("dyn", "any", "param"):
        return True
    if kind.name != operations.type_name(value):
        return False
    if kind.kind == "list" and isinstance(value, list):
        return not value or fits(kind.params[0], value[0])
    if kind.kind == "map" and isinstance(value, CelMap):
        for key, item in value.items():
            return fits(kind.params[0], key) and fits(kind.params[1], item)
    return True


def _ordering(test: Callable[[int, int], bool]) -> Function:
    def ordered(left: Any, right: Any) -> object:
        if left.__class__ is int and right.__class__ is int:
            return test(left, right)
        if not operations.is_comparable(left):
            return no_overload()
        found = operations.compare(left, right)
        return test(found, 0) if isinstance(found, int) else found

    return ordered


def _size(value: object) -> object:
    size = operations.size_of(value)
    return no_overload("size") if size is None else size


SINGLETONS: Final[dict[str, Function]] = {
    "!_": operations.invert, "-_": operations.negate, "_+_": operations.add,
    "_-_": operations.subtract, "_*_": operations.multiply, "_/_": operations.divide,
    "_%_": operations.modulo, "_<_": _ordering(operator.lt), "_<=_": _ordering(operator.le),
    "_>_": _ordering(operator.gt), "_>=_": _ordering(operator.ge), "@in": operations.contains,
    "size": _size, "type": conversions.to_type, "dyn": lambda value: value,
    "matches": strings.matches, "sort": lambda values: lists.ordered(values, values),
    "@sortByAssociatedKeys": lists.ordered,
}  # fmt: skip
"""By name: these judge their arguments themselves."""

UNGUARDED: Final = frozenset({"contains", "startsWith", "endsWith", "flatten"})
"""Functions whose overloads judge their arguments themselves."""


def _contains_ip(prefix: CidrValue, other: object) -> object:
    address = opaque.ip_of(other) if isinstance(other, str) else other
    return prefix.contains(address.address) if isinstance(address, IpValue) else no_overload()


def _contains_cidr(prefix: CidrValue, other: object) -> object:
    inner = opaque.cidr_of(other) if isinstance(other, str) else other
    return prefix.covers(inner) if isinstance(inner, CidrValue) else inner


def _is_canonical(text: str) -> object:
    address = opaque.ip_of(text)
    return address if isinstance(address, CelError) else str(address) == text


def _quantity(text: str) -> object:
    found = opaque.quantity_of(text)
    # Another one for each call: as a map key it is equal to itself only.
    return QuantityValue(found.amount) if isinstance(found, QuantityValue) else found


def _as_integer(value: QuantityValue) -> object:
    number = value.amount.as_int64()
    return (
        CelError("quantity-integer", "cannot convert value to integer")
        if number is None
        else (number)
    )


def _sum_of(value: QuantityValue, other: QuantityValue | int, *, minus: bool) -> QuantityValue:
    second = Quantity.of_int(other) if isinstance(other, int) else other.amount
    made = value.amount.minus(second) if minus else value.amount.plus(second)
    return QuantityValue(made, summed=True)


def _plus(value: QuantityValue, other: QuantityValue | int) -> QuantityValue:
    return _sum_of(value, other, minus=False)


def _minus(value: QuantityValue, other: QuantityValue | int) -> QuantityValue:
    return _sum_of(value, other, minus=True)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _wrapped(number: int) -> int:
    """A 64-bit number without sign as one with sign."""
    return number if number <= INT_MAX else number - 2**64


def _good(made: object) -> bool:
    return not isinstance(made, CelError)


def _of_non_zero(value: object) -> Optional:
    zero = (
        value is None
        or (isinstance(value, (bool, int, float, str, bytes, list, CelMap)) and not value)
        or (isinstance(value, Duration) and not value.nanos)
        or (isinstance(value, Timestamp) and value.moment == _ZERO_TIME)
    )
    return NONE if zero else Optional(value)


_ZERO_TIME: Final = (-62135596800, 0)
"""Midnight of the first day of year 1."""


def _value(value: Optional) -> object:
    return (
        value.value
        if value.has_value
        else CelError("optional-none", "optional.none() has no value")
    )


def _validated(kind: Any, text: str) -> Optional:
    found = kind.validate(text)
    return Optional(list(found)) if found else NONE


def _named_format(name: str) -> Optional:
    return Optional(FORMATS[name]) if name in FORMATS else NONE


def _getters() -> dict[str, Function]:
    from pytest_dra.cel.signatures import STANDARD
    from pytest_dra.cel.signatures import read

    made: dict[str, Function] = {}
    for overload in read(STANDARD):
        name = overload.name
        if overload.id.startswith("timestamp_to_") and name.startswith("get"):
            made[overload.id] = _timestamp_getter(name)
        elif overload.id.startswith("duration_to_") and name.startswith("get"):
            made[overload.id] = _duration_getter(name)
    return made


def _timestamp_getter(name: str) -> Function:
    return lambda value, zone="UTC": times.timestamp_part(value, name, zone)


def _duration_getter(name: str) -> Function:
    return lambda value: times.duration_part(value, name)


def _by_type() -> dict[str, Function]:
    """Overloads that differ only in the type of their elements."""
    made: dict[str, Function] = {}
    starts = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
    for name in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"):
        made[f"list_{name}_is_sorted_bool"] = lists.is_sorted
        made[f"list_{name}_min_{name}"] = lambda values: lists.extreme(values, 1)
        made[f"list_{name}_max_{name}"] = lambda values: lists.extreme(values, -1)
    for name, start in starts.items():
        made[f"list_{name}_sum_{name}"] = _summing(start)
    return made


def _summing(start: object) -> Function:
    return lambda values: lists.total(values, start)


def _as_text(value: object) -> str:
    return str(value)


def _conversions() -> dict[str, Function]:
    to = {
        "bool": conversions.to_bool, "bytes": conversions.to_bytes,
        "double": conversions.to_double, "duration": conversions.to_duration,
        "int64": conversions.to_int, "string": conversions.to_string,
        "timestamp": conversions.to_timestamp, "uint64": conversions.to_uint,
    }  # fmt: skip
    names = ("bool", "string", "bytes", "double", "int64", "uint64", "duration", "timestamp")
    made = {f"{one}_to_{other}": convert for one in names for other, convert in to.items()}
    made["ip_to_string"] = made["cidr_to_string"] = _as_text
    return made


_OPAQUE: Final[dict[str, Function]] = {
    "string_to_quantity": _quantity,
    "is_quantity_string": lambda text: _good(opaque.quantity_of(text)),
    "quantity_sign": lambda q: _sign(q.nanos),
    "quantity_is_greater_than": lambda q, other: q.nanos > other.nanos,
    "quantity_is_less_than": lambda q, other: q.nanos < other.nanos,
    "quantity_compare_to": lambda q, other: _sign(q.nanos - other.nanos),
    "quantity_get_float": lambda q: q.amount.as_float(),
    "quantity_get_int": _as_integer,
    "quantity_is_integer": lambda q: q.amount.as_int64() is not None,
    "quantity_add": _plus, "quantity_add_int": _plus,
    "quantity_sub": _minus, "quantity_sub_int": _minus,
    "string_to_semver": opaque.semver_of,
    "string_bool_to_semver": lambda text, loose: opaque.semver_of(text, normalize=loose),
    "is_semver_string": lambda text: _good(opaque.semver_of(text)),
    "is_semver_string_bool": lambda text, loose: _good(opaque.semver_of(text, normalize=loose)),
    "semver_is_greater_than": lambda v, other: v.key > other.key,
    "semver_is_less_than": lambda v, other: v.key < other.key,
    "semver_compare_to": lambda v, other: (v.key > other.key) - (v.key < other.key),
    "semver_major": lambda v: _wrapped(v.major), "semver_minor": lambda v: _wrapped(v.minor),
    "semver_patch": lambda v: _wrapped(v.patch),
    "string_to_ip": opaque.ip_of, "is_ip": lambda text: _good(opaque.ip_of(text)),
    "ip_is_canonical": _is_canonical,
    "ip_family": lambda ip: opaque.ip_part(ip, "family"),
    "ip_is_unspecified": lambda ip: opaque.ip_part(ip, "isUnspecified"),
    "ip_is_loopback": lambda ip: opaque.ip_part(ip, "isLoopback"),
    "ip_is_link_local_multicast": lambda ip: opaque.ip_part(ip, "isLinkLocalMulticast"),
    "ip_is_link_local_unicast": lambda ip: opaque.ip_part(ip, "isLinkLocalUnicast"),
    "ip_is_global_unicast": lambda ip: opaque.ip_part(ip, "isGlobalUnicast"),
    "string_to_cidr": opaque.cidr_of, "is_cidr": lambda text: _good(opaque.cidr_of(text)),
    "cidr_contains_ip_string": _contains_ip, "cidr_contains_ip_ip": _contains_ip,
    "cidr_contains_cidr_string": _contains_cidr, "cidr_contains_cidr": _contains_cidr,
    "cidr_ip": lambda prefix: IpValue(prefix.address),
    "cidr_prefix_length": lambda prefix: prefix.bits,
    "cidr_masked": lambda prefix: prefix.masked(),
    "string_to_url": urls.url_of, "is_url_string": urls.is_url,
    "format-validate": _validated, "format-named": _named_format,
}  # fmt: skip


def _format_constant(name: str) -> Function:
    return lambda: FORMATS[name]


def _url_part(name: str) -> Function:
    return lambda url: url.part(name)


_TEXT: Final[dict[str, Function]] = {
    "contains_string": strings.of_strings(lambda text, part: part in text),
    "starts_with_string": strings.of_strings(str.startswith),
    "ends_with_string": strings.of_strings(str.endswith),
    "string_char_at_int": strings.char_at, "string_lower_ascii": strings.lower,
    "string_upper_ascii": strings.upper, "string_replace_string_string": strings.replace,
    "string_replace_string_string_int": strings.replace, "string_split_string": strings.split,
    "string_split_string_int": strings.split, "string_substring_int": strings.substring,
    "string_substring_int_int": strings.substring, "string_trim": strings.trim,
    "string_format": formats.apply, "strings_quote": formatted.cel_quoted,
    "list_join": strings.join, "list_join_string": strings.join,
    "string_find_string": strings.find, "string_find_all_string": strings.find_all,
    "string_find_all_string_int": strings.find_all,
    "string_index_of_string": strings.index_of,
    "string_last_index_of_string": strings.last_index_of,
}  # fmt: skip

_LISTS: Final[dict[str, Function]] = {
    "not_strictly_false": lambda value: value if value.__class__ is bool else True,
    "optional_of": Optional, "optional_ofNonZeroValue": _of_non_zero, "optional_none": lambda: NONE,
    "optional_value": _value, "optional_hasValue": lambda value: value.has_value,
    "list_first": lambda values: lists.end_of(values, 0),
    "list_last": lambda values: lists.end_of(values, -1),
    "optional_unwrap": lists.unwrapped, "optional_unwrapOpt": lists.unwrapped,
    "list_sets_contains_list": lists.contains_all,
    "list_sets_equivalent_list": lists.equivalent,
    "list_sets_intersects_list": lists.intersects,
    "list_a_index_of_int": lists.index_of, "list_a_last_index_of_int": lists.last_index_of,
    "list_slice": lists.sliced, "list_flatten": lists.flattened,
    "list_flatten_int": lists.flattened, "list_reverse": lambda values: values[::-1],
    "list_distinct": lists.distinct,
    "@mapInsert_map_key_value": lambda target, *parts: operations.inserted(target, list(parts)),
    "@mapInsert_map_map": lambda target, *parts: operations.inserted(target, list(parts)),
}  # fmt: skip


def implementations(minor: int) -> dict[str, Function]:
    """Functions by id of overload, for one release."""
    checked = minor >= FIRST_CHECKED

    def index(text: str, part: str, offset: int) -> object:
        return strings.index_of(text, part, offset, clamp=checked)

    def last_index(text: str, part: str, offset: int) -> object:
        return strings.last_index_of(text, part, offset, clamp=checked)

    parts = {
        "scheme": "Scheme", "host": "Host", "hostname": "Hostname", "port": "Port",
        "escaped_path": "EscapedPath", "query": "Query",
    }  # fmt: skip
    return {
        **_conversions(), **_getters(), **_by_type(), **_OPAQUE, **_TEXT, **_LISTS,
        **{f"format.{name}": _format_constant(name) for name in FORMATS},
        **{f"url_get_{word}": _url_part(f"get{part}") for word, part in parts.items()},
        "string_index_of_string_int": index, "string_last_index_of_string_int": last_index,
        "list_includes_dyn_dyn": lists.includes if checked else lists.includes_136,
        "int64_to_duration": lambda _: CelError("conversion", "an int is no duration"),
        "lists_range": lambda size: lists.counted(size, checked=checked),
    }  # fmt: skip

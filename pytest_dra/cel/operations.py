"""Operators on values: equality, order, arithmetic, membership, and names of types."""

from __future__ import annotations

import math
from typing import Any
from typing import Final

from pytest_dra.cel import times
from pytest_dra.cel import work
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import InternalFailure
from pytest_dra.cel.errors import no_overload
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import INT_MIN
from pytest_dra.cel.values import UINT_MAX
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import ConcatList
from pytest_dra.cel.values import Duration
from pytest_dra.cel.values import Empty
from pytest_dra.cel.values import MutableList
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import Timestamp
from pytest_dra.cel.values import TypeValue
from pytest_dra.cel.values import Uint
from pytest_dra.cel.values import lossless_int

_NAMES: Final[dict[type, str]] = {
    bool: "bool", int: "int", Uint: "uint", float: "double", str: "string", bytes: "bytes",
    type(None): "null_type", list: "list", ConcatList: "list", MutableList: "list", CelMap: "map",
    Timestamp: "google.protobuf.Timestamp", Duration: "google.protobuf.Duration",
    TypeValue: "type", Optional: "optional_type", Empty: "google.protobuf.Empty",
    CelError: "error",
}  # fmt: skip
_COMPARABLE: Final = frozenset({bool, int, Uint, float, str, bytes, Timestamp, Duration})
_INT_BOUND: Final = float(2**63)
_UINT_BOUND: Final = float(2**64)


def type_name(value: Any) -> str:
    """The name of a value's type at run time."""
    name = _NAMES.get(value.__class__)
    return name if name is not None else str(value.type_name)


def is_comparable(value: Any) -> bool:
    """True for values that have an order."""
    return value.__class__ in _COMPARABLE


def equal(left: Any, right: Any) -> bool | CelError:
    """``==`` as the operator has it: null equals only null."""
    if left is None or right is None:
        return left is None and right is None
    return same(left, right)


def same(left: Any, right: Any) -> bool | CelError:
    """Equality as the left value judges it; opaque ones make an error of other types."""
    kind, other = left.__class__, right.__class__
    if kind in (int, Uint, float):
        if other not in (int, Uint, float):
            return False
        return _numbers(left, right) == 0
    if kind in (bool, str, bytes):
        return kind is other and left == right
    if isinstance(left, list):
        return _lists(left, right, keep_error=kind is ConcatList)
    if isinstance(left, CelMap):
        return _maps(left, right)
    if left is None:
        return right is None
    if isinstance(left, Timestamp):
        return isinstance(right, Timestamp) and left.moment == right.moment
    if isinstance(left, Duration):
        return isinstance(right, Duration) and left.nanos == right.nanos
    return _others(left, right)


def _others(left: Any, right: Any) -> bool | CelError:
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.has_value != right.has_value:
            return False
        return same(left.value, right.value) if left.has_value else True
    if isinstance(left, TypeValue):
        return isinstance(right, TypeValue) and left.name == right.name
    if isinstance(left, Empty):
        return isinstance(right, Empty)
    if isinstance(left, CelError):
        return left
    found: bool | CelError = left.equals(right)
    return found


def _lists(left: Any, right: Any, *, keep_error: bool) -> bool | CelError:
    if not isinstance(right, list) or len(left) != len(right):
        return False
    work.spend(len(left))
    error: CelError | None = None
    for one, other in zip(left, right, strict=False):
        found = equal(one, other)
        if found is False:
            return False
        if found is not True and error is None:
            error = found
    return error if error is not None and keep_error else True


def _maps(left: CelMap, right: Any) -> bool | CelError:
    if not isinstance(right, CelMap) or len(left) != len(right):
        return False
    work.spend(len(left))
    for key, value in left.items():
        found = right.find(key)
        if found is None or equal(value, found[1]) is False:
            return False
    return True


def _numbers(left: Any, right: Any) -> int | None:
    """Order of two numbers of any type, None if one is NaN."""
    if left.__class__ is float or right.__class__ is float:
        return _with_double(left, right)
    return int(left > right) - int(left < right)


def _with_double(left: Any, right: Any) -> int | None:
    one = _as_double(left, right)
    other = _as_double(right, left)
    if math.isnan(one) or math.isnan(other):
        return None
    return (one > other) - (one < other)


def _as_double(value: Any, beside: Any) -> float:
    """A number as the double that it is compared as."""
    if isinstance(value, float):
        return value
    # A double beyond the type's range is larger or smaller than all of its numbers.
    bound = (0.0, _UINT_BOUND) if isinstance(value, Uint) else (-_INT_BOUND, _INT_BOUND)
    if beside < bound[0]:
        return math.inf if not math.isinf(beside) else 0.0
    if beside > bound[1]:
        return 0.0
    return float(value)


def compare(left: Any, right: Any) -> int | CelError:
    """-1, 0 or 1, or an error where the two have no order."""
    kind, other = left.__class__, right.__class__
    if kind in (int, Uint, float):
        if other not in (int, Uint, float):
            # NaN on the left is found before the other side is looked at.
            if kind is float and math.isnan(left):
                return CelError("nan-order", "NaN values cannot be ordered")
            return no_overload()
        found = _numbers(left, right)
        return CelError("nan-order", "NaN values cannot be ordered") if found is None else found
    if kind is not other:
        return no_overload()
    if isinstance(left, Timestamp) and isinstance(right, Timestamp):
        return (left.moment > right.moment) - (left.moment < right.moment)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return (left.nanos > right.nanos) - (left.nanos < right.nanos)
    if kind in (bool, str, bytes):
        return int(left > right) - int(left < right)
    return no_overload()


def _int(value: int) -> int | CelError:
    return value if INT_MIN <= value <= INT_MAX else CelError("overflow", "integer overflow")


def _uint(value: int) -> Uint | CelError:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    return CelError("overflow", "unsigned integer overflow")


def _span(nanos: int) -> Duration | CelError:
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    return CelError("overflow", "duration overflow")


def add(left: Any, right: Any) -> object:
    """``+``."""
    kind, other = left.__class__, right.__class__
    if kind is int and other is int:
        total = left + right
        return total if INT_MIN <= total <= INT_MAX else _int(total)
    if kind is Uint and other is Uint:
        return _uint(int(left) + int(right))
    if kind is other and kind in (float, str, bytes):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        if left.__class__ is MutableList:
            work.spend(len(right))
            left.extend(right)
            return left
        if not left:
            return right
        if not right:
            return left
        work.spend(len(left) + len(right))
        return ConcatList([*left, *right])
    if isinstance(left, Duration):
        if isinstance(right, Duration):
            return _span(left.nanos + right.nanos)
        if isinstance(right, Timestamp):
            return times.shifted(right, left.nanos)
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return times.shifted(left, right.nanos)
    return no_overload("_+_")


def subtract(left: Any, right: Any) -> object:
    """``-`` with two operands."""
    kind, other = left.__class__, right.__class__
    if kind is int and other is int:
        return _int(left - right)
    if kind is Uint and other is Uint:
        return _uint(int(left) - int(right))
    if kind is float and other is float:
        return left - right
    if isinstance(left, Duration) and isinstance(right, Duration):
        return _span(left.nanos - right.nanos)
    if isinstance(left, Timestamp):
        if isinstance(right, Duration):
            return times.shifted(left, -right.nanos)
        if isinstance(right, Timestamp):
            return times.between(left, right)
    return no_overload("_-_")


def multiply(left: Any, right: Any) -> object:
    """``*``."""
    kind = left.__class__
    if kind is not right.__class__ or kind not in (int, Uint, float):
        return no_overload("_*_")
    if kind is float:
        return left * right
    product = int(left) * int(right)
    return _int(product) if kind is int else _uint(product)


def divide(left: Any, right: Any) -> object:
    """``/``; whole numbers are cut towards zero."""
    kind = left.__class__
    if kind is not right.__class__ or kind not in (int, Uint, float):
        return no_overload("_/_")
    if kind is float:
        return _divide_doubles(left, right)
    one, other = int(left), int(right)
    if other == 0:
        return CelError("divide-by-zero", "division by zero")
    quotient = abs(one) // abs(other)
    if kind is Uint:
        return Uint(quotient)
    return _int(quotient if (one < 0) == (other < 0) else -quotient)


def _divide_doubles(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Any, right: Any) -> object:
    """``%``; the result has the sign of the dividend."""
    kind = left.__class__
    if kind is not right.__class__ or kind not in (int, Uint):
        return no_overload("_%_")
    one, other = int(left), int(right)
    if other == 0:
        return CelError("divide-by-zero", "modulus by zero")
    if kind is Uint:
        return Uint(one % other)
    if one == INT_MIN and other == -1:
        return CelError("overflow", "integer overflow")
    rest = abs(one) % abs(other)
    return rest if one >= 0 else -rest


def negate(value: Any) -> object:
    """Unary ``-``."""
    if value.__class__ is int:
        return _int(-value)
    if value.__class__ is float:
        return -value
    if isinstance(value, Duration):
        return _span(-value.nanos)
    return no_overload("-_")


def invert(value: Any) -> object:
    """``!``."""
    return not value if value.__class__ is bool else no_overload("!_")


def contains(element: Any, container: Any) -> object:
    """``in``."""
    if isinstance(container, CelMap):
        # The default of a map is not seen here.
        found = (
            container.entries.get(element)
            if element.__class__ is str
            else container._find_other(element)
        )
        return found is not None
    if isinstance(container, list):
        work.spend(len(container))
        return any(same(element, item) is True for item in container)
    return no_overload("@in")


def size_of(value: Any) -> int | None:
    """``size`` in characters, bytes or entries; None for what has none."""
    if value.__class__ in (str, bytes) or isinstance(value, (list, CelMap)):
        return len(value)
    return None


def index_of(key: Any) -> int | CelError:
    """A key as an index into a list."""
    if key.__class__ is int:
        return key
    if isinstance(key, Uint):
        return int(key) if key <= INT_MAX else CelError("index", "unsupported index value")
    if isinstance(key, float):
        whole = lossless_int(key)
        return CelError("index", "unsupported index value") if whole is None else whole
    return CelError("index", f"unsupported index type {type_name(key)!r}")


def inserted(target: Any, parts: list[object]) -> object:
    """A map with one more entry, or with those of another map; keys must be new."""
    if not isinstance(target, CelMap):
        raise InternalFailure("no map")
    if len(parts) == 2:
        pairs = [(parts[0], parts[1])]
    elif isinstance(parts[0], CelMap):
        pairs = list(parts[0].items())
    else:
        raise InternalFailure("no map")
    for key, value in pairs:
        if target.find(key) is not None:
            return CelError("duplicate-key", f"key {key!r} is there already")
        try:
            target.put(key, value)
        except TypeError as error:
            raise InternalFailure(str(error)) from error
    return target

"""Functions on lists."""

from __future__ import annotations

import functools
import itertools
from typing import Any
from typing import Final

from pytest_dra.cel import operations
from pytest_dra.cel import work
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import InternalFailure
from pytest_dra.cel.errors import no_overload
from pytest_dra.cel.values import NONE
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import Uint

_PLAIN: Final = frozenset({int, Uint, str, bytes, bool})

RANGE_MAX: Final = 1_000_000
"""Longest range."""

INCLUDES_MAX: Final = 48
"""Elements that includes() looked at in Kubernetes 1.36."""

_FLATTEN_MAX: Final = 200
"""Depth to which lists are followed; no expression can nest them deeper by itself."""


def is_sorted(values: list[object]) -> object:
    """True if no element is greater than the next; what has no order goes unnoticed."""
    for value in values:
        if not operations.is_comparable(value):
            return no_overload()
    return not any(operations.compare(one, other) == 1 for one, other in itertools.pairwise(values))


def total(values: list[object], start: object) -> object:
    """Sum from ``start``."""
    found = start
    for value in values:
        found = operations.add(found, value)
        if isinstance(found, CelError):
            return found
    return found


def extreme(values: list[object], prefer: int) -> object:
    """The least (``prefer`` 1) or greatest (-1) element."""
    if not values:
        return CelError("empty-list", "min or max of an empty list")
    found = values[0]
    for value in values:
        if not operations.is_comparable(value):
            return no_overload()
        if operations.compare(found, value) == prefer:
            found = value
    return found


def index_of(values: list[object], item: object) -> int:
    """Index of the first equal element, -1 for none."""
    for index, value in enumerate(values):
        if operations.same(value, item) is True:
            return index
    return -1


def last_index_of(values: list[object], item: object) -> int:
    """Index of the last equal element, -1 for none."""
    for index in range(len(values) - 1, -1, -1):
        if operations.same(values[index], item) is True:
            return index
    return -1


def includes(target: object, item: object) -> bool:
    """An equal element of a list, or equality with anything else."""
    if isinstance(target, list):
        work.spend(len(target))
        return any(operations.same(value, item) is True for value in target)
    return operations.same(target, item) is True


def includes_136(target: object, item: object) -> object:
    """``includes`` as it was in 1.36: an error once 48 elements were looked at in vain."""
    if not isinstance(target, list):
        return includes(target, item)
    if includes(target[:INCLUDES_MAX], item):
        return True
    if len(target) > INCLUDES_MAX:
        return CelError("other", f"includes() takes lists of at most {INCLUDES_MAX} values")
    return False


def _plain(*lists: list[object]) -> bool:
    """True if all elements have one type whose values a set tells apart as CEL does."""
    kinds = {value.__class__ for values in lists for value in values}
    return len(kinds) == 1 and kinds <= _PLAIN


def _holds(values: list[object], item: object) -> bool:
    work.spend(len(values))
    return any(operations.same(item, value) is True for value in values)


def contains_all(values: list[object], items: list[object]) -> bool:
    """``sets.contains``."""
    if _plain(values, items):
        return set(items) <= set(values)
    return all(_holds(values, item) for item in items)


def equivalent(one: list[object], other: list[object]) -> bool:
    """``sets.equivalent``."""
    return contains_all(one, other) and contains_all(other, one)


def intersects(one: list[object], other: list[object]) -> bool:
    """``sets.intersects``."""
    return any(_holds(other, item) for item in one)


def sliced(values: list[object], start: int, end: int) -> object:
    """Elements from ``start`` to ``end``."""
    if start < 0 or end < 0 or start > end:
        return CelError("index", f"bad slice from {start} to {end}")
    if end > len(values):
        return CelError("range", f"slice to {end} of a list of {len(values)}")
    return values[start:end]


def flattened(values: object, depth: Any = 1) -> object:
    """Nested lists opened to a depth."""
    if not isinstance(values, list) or depth.__class__ is not int:
        return no_overload("flatten")
    if depth < 0:
        return CelError("range", "the level must not be negative")
    return _flat(values, min(depth, _FLATTEN_MAX))


def _flat(values: list[object], depth: int) -> list[object]:
    work.spend(len(values))
    found: list[object] = []
    for value in values:
        if isinstance(value, list) and depth:
            found.extend(_flat(value, depth - 1))
        else:
            found.append(value)
    return found


def ordered(values: object, keys: object) -> object:
    """Elements in the order of their keys."""
    if not isinstance(values, list) or not isinstance(keys, list):
        return no_overload("sort")
    if len(values) != len(keys):
        return CelError("other", "as many keys as elements are wanted")
    if not values:
        return values
    if not operations.is_comparable(keys[0]):
        return CelError("list-elements", "list elements must be comparable")
    if len(keys) > 1 and any(key.__class__ is not keys[0].__class__ for key in keys):
        return CelError("list-elements", "list elements must have the same type")

    def order(one: int, other: int) -> int:
        found = operations.compare(keys[one], keys[other])
        return found if isinstance(found, int) else 0

    return [values[i] for i in sorted(range(len(values)), key=functools.cmp_to_key(order))]


def distinct(values: list[object]) -> list[object]:
    """Each element once, in the order of first occurrence."""
    if _plain(values):
        return list(dict.fromkeys(values))
    found: list[object] = []
    for value in values:
        if not any(operations.same(value, other) is True for other in found):
            found.append(value)
    return found


def counted(size: int, *, checked: bool) -> object:
    """0, 1, ... below ``size``. Without ``checked``, as up to Kubernetes 1.36, none for < 0."""
    if size < 0:
        return CelError("range", "the size must not be negative") if checked else []
    if size > RANGE_MAX:
        # Before 1.37 this ran into the cost limit.
        return CelError("range", f"the size is more than {RANGE_MAX}")
    return list(range(size))


def end_of(values: list[object], index: int) -> Optional:
    """The first or last element as an optional."""
    return Optional(values[index]) if values else NONE


def unwrapped(values: list[object]) -> object:
    """The values of the optionals that have one."""
    found = []
    for value in values:
        if not isinstance(value, Optional):
            return CelError("other", "a value is not optional")
        if value.has_value:
            found.append(value.value)
    return found


def require_list(value: object) -> list[object]:
    """A list, where the reference breaks down for anything else."""
    if not isinstance(value, list):
        raise InternalFailure("no list")
    return value

"""Values of attributes for constraints: published by the driver, or derived by a request."""

from __future__ import annotations

import functools
from typing import Any
from typing import Final

from pytest_dra.allocator.constraints import Constraint
from pytest_dra.allocator.constraints import lookup
from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import Option
from pytest_dra.cel import CompileError
from pytest_dra.cel import Program
from pytest_dra.cel import compile_derived
from pytest_dra.cel import environment
from pytest_dra.cel.derived import attribute_of

ABSENT: Final = "absent"
"""The device has no such attribute."""

FAILED: Final = "failed"
"""The expression of a derived attribute does not compile, or fails on the device."""

_COMPILED_MAX: Final = 256
_FEATURES: Final = frozenset({"ConsumableCapacity", "ListTypeAttributes"})


@functools.lru_cache(maxsize=_COMPILED_MAX)
def _compiled(expression: str) -> Program | None:
    try:
        return compile_derived(expression, environment(features=_FEATURES))
    except CompileError:
        return None


def value(option: Option, constraint: Constraint, place: int, view: View) -> Any:
    """The value that a constraint compares, :data:`ABSENT` or :data:`FAILED`."""
    part = view.part(place)
    inner = place - part.offset
    expression = option.derived.get(constraint.attribute)
    if expression is None:
        layout = part.layout
        found = lookup(layout.devices[inner], layout.driver, constraint.attribute)
        return ABSENT if found is None else constraint.value(found)
    program = _compiled(expression)
    prepared = part.layout.prepared[inner]
    if program is None or prepared.fault is not None:
        return FAILED
    outcome = attribute_of(program.evaluate(prepared.value))
    if outcome.error is not None or not isinstance(outcome.value, dict):
        return FAILED
    return constraint.value(outcome.value)


def values(option: Option, constraint: Constraint, places: int, view: View) -> dict[int, Any]:
    """Values of a set of devices, by their places."""
    return {place: value(option, constraint, place, view) for place in ordered(places)}

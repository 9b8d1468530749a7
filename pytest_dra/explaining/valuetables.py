"""How many free devices have which value of an attribute that a constraint compares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from typing import Final

from pytest_dra.allocator import attributes
from pytest_dra.allocator.constraints import Constraint
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import Option

_VALUES_MAX: Final = 6
"""Values of one constraint that are told."""


class ValueTables:
    """Free devices of one node by the values of the constraints on their requests."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._found: dict[tuple[int, int], tuple[Constraint, dict[str, set[int]]]] = {}

    def add(self, claim: int, option: Option, free: Iterable[int]) -> None:
        """Count the devices that are free for a request."""
        for constraint in option.constraints:
            key = (claim, constraint.number)
            _, table = self._found.setdefault(key, (constraint, {}))
            for place, value in self._values(option, constraint, free):
                table.setdefault(value, set()).add(place)

    def _values(
        self, option: Option, constraint: Constraint, free: Iterable[int]
    ) -> Iterable[tuple[int, str]]:
        for place in free:
            value = attributes.value(option, constraint, place, self._view)
            if value not in (attributes.ABSENT, attributes.FAILED, None):
                yield place, _text(value)

    def lines(self) -> tuple[str, ...]:
        """A line per constraint."""
        return tuple(
            f"constraint #{constraint.number}: of {constraint.attribute} there are {_table(table)}"
            for constraint, table in self._found.values()
            if table
        )


def _table(table: dict[str, set[int]]) -> str:
    ranked = sorted(table.items(), key=lambda one: (-len(one[1]), one[0]))
    parts = [f"{len(places)} x {value}" for value, places in ranked[:_VALUES_MAX]]
    more = len(ranked) - _VALUES_MAX
    return ", ".join([*parts, f"{more} values more"] if more > 0 else parts)


def _text(value: Any) -> str:
    """A value as it is compared: one of its type, or a set with its type."""
    if len(value) == 2 and isinstance(value[1], frozenset):
        return "{" + ", ".join(sorted(map(_scalar, value[1]))) + "}"
    return next((_scalar(one) for one in value if one is not None), "nothing")


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

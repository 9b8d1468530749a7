"""Constraints between the devices of a claim.

The state of a constraint is a value: adding a device gives a new one, so undoing costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

_SCALARS: Final = ("string", "int", "bool", "version")
_LISTS: Final = ("ints", "bools", "strings", "versions")
_SINGLE: Final = (
    ("int", "ints"),
    ("bool", "bools"),
    ("string", "strings"),
    ("version", "versions"),
)

Value = Any
"""An attribute's value for comparisons: hashable, None if it has none of a known type."""


def lookup(device: Mapping[str, Any], driver: str, name: str) -> Mapping[str, Any] | None:
    """The attribute of a fully-qualified name: under it, or under its id for the own driver."""
    attributes = device.get("attributes") or {}
    if name in attributes:
        return attributes[name] or {}
    domain, slash, identifier = name.partition("/")
    if slash and domain == driver and identifier in attributes:
        return attributes[identifier] or {}
    return None


def scalar(attribute: Mapping[str, Any]) -> Value:
    """The values of an attribute as scalars, in the order in which they are compared."""
    return tuple(attribute.get(kind) for kind in _SCALARS)


def as_set(attribute: Mapping[str, Any]) -> Value:
    """The values of an attribute as a set with their type, None if there is none."""
    for kind in _LISTS:
        if attribute.get(kind):
            return kind, frozenset(attribute[kind])
    for kind, several in _SINGLE:
        if attribute.get(kind) is not None:
            return several, frozenset((attribute[kind],))
    return None


class Constraint:
    """One constraint of a claim. ``distinct`` ones want different values, others the same."""

    __slots__ = ("attribute", "distinct", "lists", "number", "requests")
    restores = True
    """Whether taking a device back leads to the state before it."""

    def __init__(self, number: int, spec: Mapping[str, Any], *, lists: bool) -> None:
        self.number = number
        self.distinct = spec.get("matchAttribute") is None
        name = spec.get("distinctAttribute") if self.distinct else spec.get("matchAttribute")
        self.attribute = str(name)
        self.requests = frozenset(spec.get("requests") or ())
        self.lists = lists

    def applies(self, name: str, parent: str | None) -> bool:
        """True if it is about a request, or a subrequest of a parent."""
        if not self.requests:
            return True
        if parent is None:
            return name in self.requests
        return parent in self.requests or f"{parent}/{name}" in self.requests

    def value(self, attribute: Mapping[str, Any]) -> Value:
        """The form of an attribute in which it is compared."""
        return as_set(attribute) if self.lists else scalar(attribute)

    def first(self, value: Value) -> Any:
        """State with one device; None if it cannot be."""
        if self.lists and value is None:
            return None
        return (value,) if self.distinct else value

    def add(self, state: Any, value: Value, request: str) -> Any:
        """State with one more device, of a request; None if the constraint forbids it."""
        del request
        if state is None:
            return self.first(value)
        if self.distinct:
            if self.lists and value is None:
                return None
            clash = any(clashes(value, one, lists=self.lists) for one in state)
            return None if clash else (*state, value)
        if not self.lists:
            return state if equal(value, state) else None
        if value is None or value[0] != state[0]:
            return None
        common = value[1] & state[1]
        return (value[0], common) if common else None

    def removed(self, state: Any, request: str) -> Any:
        """State after a device is taken back, where that is not the one before."""
        raise NotImplementedError


def clashes(value: Value, other: Value, *, lists: bool) -> bool:
    """True if two values are not different enough for a distinctAttribute."""
    return _overlaps(value, other) if lists else _equal_or_unknown(value, other)


def _first_kind(value: tuple[Any, ...]) -> int | None:
    for place, one in enumerate(value):
        if one is not None:
            return place
    return None


def equal(value: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    place = _first_kind(value)
    return place is not None and other[place] is not None and bool(value[place] == other[place])


def _equal_or_unknown(value: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return _first_kind(value) is None or equal(value, other)


def _overlaps(value: Value, other: Value) -> bool:
    return bool(value[0] == other[0] and value[1] & other[1])

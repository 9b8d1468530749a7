"""Results of derived attributes, in the API's form."""

from __future__ import annotations

from typing import Final

from pytest_dra.cel.errors import CelError
from pytest_dra.cel.opaque import SemVer
from pytest_dra.cel.operations import type_name
from pytest_dra.cel.program import Outcome
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import TypeValue

_KINDS: Final = ((bool, "bool"), (int, "int"), (str, "string"), (SemVer, "version"))


def attribute_of(outcome: Outcome) -> Outcome:
    """The outcome with its value as an attribute, such as ``{"int": 3}``.

    An empty list becomes one of strings, of whatever type it was.
    """
    if outcome.error is not None:
        return outcome
    value = outcome.value
    made: object
    if isinstance(value, list):
        made = _list(value)
    else:
        kind, plain = _scalar(value)
        made = {kind: plain} if kind else _unsupported(value)
    if isinstance(made, CelError):
        return Outcome(value=None, error=made, cost=outcome.cost)
    return Outcome(value=made, error=None, cost=outcome.cost)


def _unsupported(value: object) -> CelError:
    return CelError("derived-type", f"a value of type {type_name(value)} is no attribute")


def _scalar(value: object) -> tuple[str, object]:
    while isinstance(value, Optional) and value.has_value:
        value = value.value
    if isinstance(value, TypeValue):
        value = value.name
    for kind, name in _KINDS:
        if value.__class__ is kind:
            return name, str(value) if isinstance(value, SemVer) else value
    return "", None


def _list(values: list[object]) -> object:
    found: list[object] = []
    first = _scalar(values[0])[0] if values else "string"
    for value in values:
        kind, plain = _scalar(value)
        if not kind or kind != first:
            return _unsupported(value)
        found.append(plain)
    return {first + "s": found}

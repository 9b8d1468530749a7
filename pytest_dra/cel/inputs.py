"""Named inputs of expressions that are not about devices, such as those of admission policies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from pytest_dra.cel.environments import Environment
from pytest_dra.cel.environments import environment
from pytest_dra.cel.program import Program
from pytest_dra.cel.program import compile_any
from pytest_dra.cel.types import CelType
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import INT_MIN
from pytest_dra.cel.values import CelMap


class Inputs(CelMap):
    """The values of the names that an environment declares; ``find_out`` gives one when needed."""

    __slots__ = ("_find_out", "_known")

    def __init__(self, find_out: Callable[[str], object]) -> None:
        super().__init__()
        self._find_out = find_out
        self._known: dict[str, object] = {}

    def named(self, name: str) -> object:
        """The value of a name, worked out once."""
        if name not in self._known:
            self._known[name] = self._find_out(name)
        return self._known[name]


def naming(minor: int, names: Mapping[str, CelType], *, stored: bool) -> Environment:
    """The environment of a release with ``names`` instead of a device; they may have dots."""
    return dataclasses.replace(environment(minor, stored=stored), names=dict(names))


def compiled(expression: str, env: Environment, *wanted: CelType) -> Program:
    """Compile an expression of one of the wanted types (none: any).

    Raises:
        CompileError: it has problems.
    """

    def rule(kind: CelType) -> str:
        if not wanted or kind in wanted:
            return ""
        return f"must evaluate to {' or '.join(str(one) for one in wanted)}, not {kind}"

    return compile_any(expression, env, rule)


def value_of(value: Any) -> object:
    """Plain JSON as a value of expressions."""
    if isinstance(value, Mapping):
        return CelMap.of_strings((str(key), value_of(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [value_of(item) for item in value]
    if isinstance(value, float) or (value.__class__ is int and not INT_MIN <= value <= INT_MAX):
        return float(value)
    return value

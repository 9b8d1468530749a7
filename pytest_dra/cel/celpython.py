"""cel-python as the second engine: another reading of the language, without Kubernetes' parts."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import celpy
from celpy import celtypes
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError

from pytest_dra.cel import opaque
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.errors import Problem
from pytest_dra.cel.opaque import QuantityValue
from pytest_dra.cel.opaque import SemVer
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.values import CelMap

GAPS: Final = (
    "no type check: undeclared names and wrong types show at run time only",
    "no cost, neither estimated nor counted",
    "no optional types (.? and [?]), no cel.bind, no two-variable comprehensions, no backticks",
    "numbers of different types neither compare nor equal each other",
    "of the functions of Kubernetes only quantity, semver and their comparisons",
    "one environment for all releases",
)


_FAILURES: Final = (
    CELEvalError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError,
    RecursionError, NotImplementedError,
)  # fmt: skip
"""What evaluations of cel-python raise."""

_Domains: Final[Any] = type(
    "Domains", (celtypes.MapType,), {"__missing__": lambda _self, _key: celtypes.MapType()}
)
"""Domains of a device: an unknown one is an empty map."""


def _number(kind: type) -> Callable[[Any], Any]:
    return lambda text: _checked(
        opaque.quantity_of(str(text)) if kind is QuantityValue else opaque.semver_of(str(text))
    )


def _checked(made: Any) -> Any:
    if isinstance(made, CelError):
        raise CELEvalError(made.message)
    return made


def _rank(value: Any) -> Any:
    return value.nanos if isinstance(value, QuantityValue) else value.key


def _compare(value: Any, other: Any) -> Any:
    one, two = _rank(value), _rank(other)
    return celtypes.IntType((one > two) - (one < two))


def _greater(value: Any, other: Any) -> Any:
    return celtypes.BoolType(_rank(value) > _rank(other))


def _less(value: Any, other: Any) -> Any:
    return celtypes.BoolType(_rank(value) < _rank(other))


_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "quantity": _number(QuantityValue), "semver": _number(SemVer), "compareTo": _compare,
    "isGreaterThan": _greater, "isLessThan": _less,
}  # fmt: skip


def converted(value: object) -> Any:
    """One of our values as one of cel-python's."""
    if isinstance(value, CelMap):
        kind = _Domains if value.default is not None else celtypes.MapType
        return kind({converted(key): converted(item) for key, item in value.items()})
    if isinstance(value, list):
        return celtypes.ListType([converted(item) for item in value])
    if isinstance(value, bool):
        return celtypes.BoolType(value)
    if isinstance(value, int):
        return celtypes.IntType(value)
    return celtypes.StringType(value) if isinstance(value, str) else value


class CelPythonSelector:
    """A selector as cel-python compiled it."""

    def __init__(self, program: Any) -> None:
        self.program = program

    def matches(self, devices: Sequence[Prepared]) -> list[bool | CelError]:
        """For each device whether it is selected, or the error that it raises."""
        return [self._matches(device) for device in devices]

    def _matches(self, device: Prepared) -> bool | CelError:
        if device.fault is not None:
            return device.fault
        try:
            value = self.program.evaluate({"device": converted(device.value)})
        except _FAILURES as error:
            return CelError("other", f"cel-python: {error}")
        if isinstance(value, (bool, celtypes.BoolType)):
            return bool(value)
        return CelError("not-bool", "cel-python: the result is no bool")


class CelPythonEngine:
    """The engine of the package cel-python."""

    name = "cel-python"
    gaps: tuple[str, ...] = GAPS

    def compile(self, expression: str, env: Environment) -> CelPythonSelector:
        """Compile a selector; the environment plays no part.

        Raises:
            CompileError: a syntax error, by cel-python's grammar.
        """
        del env
        environment = celpy.Environment()
        try:
            tree = environment.compile(expression)
        except (CELParseError, RecursionError) as error:
            problem = Problem(kind="syntax", message=f"cel-python: {str(error)[:200]}")
            raise CompileError(expression, [problem]) from error
        return CelPythonSelector(environment.program(tree, functions=dict(_FUNCTIONS)))

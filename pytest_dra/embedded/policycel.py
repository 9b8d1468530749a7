"""The expressions of ValidatingAdmissionPolicies: compiled once, evaluated for each request."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import Final

from pytest_dra.spec import Json

if TYPE_CHECKING:
    from pytest_dra.cel.inputs import Inputs
    from pytest_dra.cel.program import Program

Variables = tuple[tuple[str, str], ...]
"""Names and expressions of the variables of a policy, in their order."""

INPUTS: Final = ("object", "oldObject", "request", "namespaceObject", "params")
"""What an expression may name; an authorizer is not among them."""

BOOL: Final = "bool"
STRING: Final = "string"
ANY: Final = ""

_COMPILED_MAX: Final = 512
"""Expressions that are kept compiled: a cluster has few policies."""


class ExpressionError(Exception):
    """An expression does not compile, or fails for a request."""


def problem(expression: str, wanted: str, minor: int, variables: Variables) -> str:
    """What is wrong with an expression of type ``wanted``, "" if nothing is."""
    try:
        _program(expression, wanted, minor, variables, stored=False)
    except ExpressionError as error:
        return str(error)
    return ""


def variables_of(spec: Json) -> Variables:
    """The variables of a policy."""
    return tuple((one["name"], one["expression"]) for one in spec.get("variables") or ())


@functools.lru_cache(maxsize=_COMPILED_MAX)
def _program(
    expression: str, wanted: str, minor: int, variables: Variables, *, stored: bool
) -> Program:
    # imported when first needed: most runs have no policy
    from pytest_dra.cel import types
    from pytest_dra.cel.errors import CompileError
    from pytest_dra.cel.inputs import compiled
    from pytest_dra.cel.inputs import naming

    names = dict.fromkeys(INPUTS, types.DYN)
    for index, (name, text) in enumerate(variables):
        try:
            program = _program(text, ANY, minor, variables[:index], stored=stored)
        except ExpressionError:
            # said about the variable itself
            names[f"variables.{name}"] = types.DYN
        else:
            names[f"variables.{name}"] = program.output
    kinds = {BOOL: (types.BOOL,), STRING: (types.STRING,), ANY: ()}[wanted]
    try:
        return compiled(expression, naming(minor, names, stored=stored), *kinds)
    except CompileError as error:
        raise ExpressionError(f"compilation failed: {error}") from error


class Evaluation:
    """The expressions of one policy for one request; each variable is worked out once at most."""

    def __init__(self, minor: int, variables: Variables, given: Mapping[str, Any]) -> None:
        self._minor = minor
        self._variables = variables
        self._given = given
        self._inputs: Inputs | None = None

    def value(self, expression: str, wanted: str) -> object:
        """The value of an expression.

        Raises:
            ExpressionError: it fails.
        """
        program = _program(expression, wanted, self._minor, self._variables, stored=True)
        outcome = program.evaluate(self._values())
        if outcome.error is not None:
            raise ExpressionError(
                f"expression '{expression}' resulted in error: {outcome.error.message}"
            )
        return outcome.value

    def _values(self) -> Inputs:
        from pytest_dra.cel.inputs import Inputs

        if self._inputs is None:
            self._inputs = Inputs(self._found)
        return self._inputs

    def _found(self, name: str) -> object:
        from pytest_dra.cel.errors import CelError
        from pytest_dra.cel.inputs import value_of

        if name in INPUTS:
            return value_of(self._given.get(name))
        wanted = name.partition(".")[2]
        names = [one for one, _ in self._variables]
        index = names.index(wanted)
        text = self._variables[index][1]
        program = _program(text, ANY, self._minor, self._variables[:index], stored=True)
        outcome = program.evaluate(self._values())
        if outcome.error is None:
            return outcome.value
        why = f'composited variable "{wanted}" fails to evaluate: {outcome.error.message}'
        return CelError("other", why)

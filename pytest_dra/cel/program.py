"""Compile an expression and evaluate it, exactly as Kubernetes does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

from pytest_dra.cel import times
from pytest_dra.cel import types
from pytest_dra.cel import work
from pytest_dra.cel.checker import Checked
from pytest_dra.cel.checker import check
from pytest_dra.cel.environments import CODE_POINTS_MAX
from pytest_dra.cel.environments import COST_MAX
from pytest_dra.cel.environments import LENGTH_MAX
from pytest_dra.cel.environments import Environment
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import CompileError
from pytest_dra.cel.errors import CostExceeded
from pytest_dra.cel.errors import InternalFailure
from pytest_dra.cel.errors import Problem
from pytest_dra.cel.errors import WorkExceeded
from pytest_dra.cel.estimate import estimate
from pytest_dra.cel.parser import parse
from pytest_dra.cel.planner import PlanError
from pytest_dra.cel.planner import plan
from pytest_dra.cel.room import SHALLOW
from pytest_dra.cel.room import room
from pytest_dra.cel.run import Scope
from pytest_dra.cel.run import State
from pytest_dra.cel.steps import Step
from pytest_dra.cel.tree import depth
from pytest_dra.cel.types import CelType
from pytest_dra.cel.validators import BrokenLiteral
from pytest_dra.cel.validators import validate
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import Timestamp

DERIVED_SINCE: Final = 37
"""Release that brought derived attributes."""

_SCALAR_RESULTS: Final = (
    types.BOOL, types.INT, types.STRING, types.ANY, types.DYN, types.SEMVER,
)  # fmt: skip
"""Types that a derived attribute may have, or its elements."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an evaluation gave: ``value``, or ``error``; and its cost."""

    value: object
    error: CelError | None
    cost: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled expression."""

    expression: str
    checked: Checked
    env: Environment
    step: Step
    levels: int

    @property
    def output(self) -> CelType:
        """Type of the result."""
        return self.checked.output

    def estimate(self) -> int:
        """The highest cost that is possible, by the sizes that the API allows."""
        with room(self.levels):
            return estimate(self.checked, self.env).high

    def evaluate(self, device: CelMap, cost_limit: int = COST_MAX) -> Outcome:
        """Evaluate for one device, see :func:`pytest_dra.cel.devices.device_value`."""
        state = State(cost_limit)
        work.begin()
        error: CelError | None = None
        value: object = None
        try:
            with room(self.levels):
                value = self.step.run(Scope(state, device))
        except (WorkExceeded, MemoryError):
            error = CelError("bounded", "more work than this engine does for one expression")
        except CostExceeded:
            error = CelError("cost", f"cost limit of {cost_limit} exceeded")
        except InternalFailure as failure:
            error = CelError("internal", f"internal error: {failure}")
        except RecursionError:
            error = CelError("internal", "internal error: nested too deeply")
        if isinstance(value, CelError):
            value, error = None, value
        return Outcome(value=value, error=error, cost=state.cost)


Rule = Callable[[CelType], str]
"""Tells what is wrong with the type of a result, "" if nothing is."""


def _any_type(_kind: CelType) -> str:
    return ""


def compile_any(expression: str, env: Environment, rule: Rule = _any_type) -> Program:
    """Compile an expression whose type satisfies a rule.

    Raises:
        CompileError: it has problems.
    """
    expression = _readable(expression)
    if len(expression) > CODE_POINTS_MAX:
        text = f"{len(expression)} characters, more than {CODE_POINTS_MAX}"
        raise CompileError(expression, [Problem(kind="limit", message=text)])
    with room(_levels(expression)):
        root, problems = parse(expression, env.macros, escapes=env.escapes)
        if root is None:
            raise _failure(expression, problems)
        checked, problems = check(root, env)
        if not problems:
            problems = _validated(checked)
        if not problems and (text := rule(checked.output)):
            problems = [Problem(kind="result-type", message=text)]
        if problems:
            raise _failure(expression, problems)
        try:
            step = plan(checked, env)
        except PlanError as error:
            problem = Problem(kind=error.kind, message=str(error))
            raise CompileError(expression, [problem]) from error
    return Program(expression=expression, checked=checked, env=env, step=step, levels=depth(root))


def _validated(checked: Checked) -> list[Problem]:
    try:
        return validate(checked)
    except BrokenLiteral:
        return [Problem(kind="panic", message="a question mark takes an optional value")]


def _levels(expression: str) -> int:
    """An upper bound of the nesting, from the text."""
    if len(expression) <= SHALLOW:
        return len(expression)
    marks = sum(expression.count(mark) for mark in "([{.?+-*/%<>=!&|")
    return marks + expression.count(" in ")


def _readable(expression: str) -> str:
    """The text with halves of surrogate pairs replaced."""
    if expression.isascii():
        return expression
    return expression.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _failure(expression: str, problems: list[Problem]) -> CompileError:
    return CompileError(expression, sorted(problems, key=lambda problem: problem.offset))


def compile_selector(expression: str, env: Environment) -> Program:
    """Compile a device selector: its type is bool, or that of attribute values.

    Raises:
        CompileError: it has problems.
    """

    def rule(kind: CelType) -> str:
        return "" if kind in (types.BOOL, env.leaf) else f"must evaluate to bool, not {kind}"

    return compile_any(expression, env, rule)


def compile_derived(expression: str, env: Environment) -> Program:
    """Compile a derived attribute: bool, int, string, version, or a list of one of them.

    Raises:
        CompileError: it has problems, or the release has no derived attributes.
    """
    if env.minor < DERIVED_SINCE:
        text = "derived attributes need Kubernetes 1.37"
        raise CompileError(expression, [Problem(kind="no-derived", message=text)])

    def rule(kind: CelType) -> str:
        inner = kind.params[0] if env.list_results and kind.kind == "list" else kind
        if inner in _SCALAR_RESULTS:
            return ""
        return f"must evaluate to bool, int, string or version, not {kind}"

    return compile_any(expression, env, rule)


def admission(expression: str, cost: int) -> str:
    """How the API judges a compiled expression: ``ok``, ``too-long`` or ``too-costly``."""
    if len(_readable(expression).encode()) > LENGTH_MAX:
        return "too-long"
    return "too-costly" if cost > COST_MAX else "ok"


def selected(outcome: Outcome) -> Outcome:
    """The outcome as that of a selector, which must be a bool."""
    value = outcome.value
    if outcome.error is not None:
        return outcome
    while isinstance(value, Optional) and value.has_value:
        value = value.value
    if value.__class__ is not bool:
        error = CelError("not-bool", f"the result is no bool but {shown(value)}")
        return Outcome(value=None, error=error, cost=outcome.cost)
    return Outcome(value=value, error=None, cost=outcome.cost)


def shown(value: object) -> str:
    """A value in a message."""
    text = times.timestamp_text(value) if isinstance(value, Timestamp) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

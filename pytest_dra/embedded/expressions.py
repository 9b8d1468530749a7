"""CEL expressions as the API server judges them when an object is written."""

from __future__ import annotations

import functools
from typing import Final

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded.report import Report

_FEATURES: Final = {
    "DRAConsumableCapacity": "ConsumableCapacity",
    "DRAListTypeAttributes": "ListTypeAttributes",
}
"""Gates that change what an expression can use, and what the compiler calls them."""

SELECTOR: Final = "selector"
DERIVED: Final = "derived attribute"


def selector(expression: str, path: str, version: KubernetesVersion, report: Report) -> None:
    """A device selector: it compiles, evaluates to a bool, and its cost is bounded."""
    _judge(SELECTOR, expression, path, version, report)


def derived(expression: str, path: str, version: KubernetesVersion, report: Report) -> None:
    """A derived attribute: it compiles, and evaluates to what an attribute can be."""
    _judge(DERIVED, expression, path, version, report)


def _judge(
    kind: str, expression: str, path: str, version: KubernetesVersion, report: Report
) -> None:
    features = frozenset(name for gate, name in _FEATURES.items() if version.enabled(gate))
    problem, too_costly = _problem(kind, expression, version.minor, features)
    if too_costly:
        report.forbidden(path, "the estimated cost of the expression exceeds the budget")
    elif problem:
        report.invalid(path, expression, problem)


@functools.lru_cache(maxsize=1024)
def _problem(kind: str, expression: str, minor: int, features: frozenset[str]) -> tuple[str, bool]:
    """What is wrong with an expression ("": nothing), and whether it is too costly."""
    # imported when first needed: most runs never write an expression
    from pytest_dra.cel.environments import COST_MAX
    from pytest_dra.cel.environments import environment
    from pytest_dra.cel.errors import CompileError
    from pytest_dra.cel.program import compile_derived
    from pytest_dra.cel.program import compile_selector

    env = environment(minor, stored=False, features=features)
    compiler = compile_selector if kind == SELECTOR else compile_derived
    try:
        program = compiler(expression, env)
    except CompileError as error:
        return f"compilation failed: {error}", False
    return "", kind == SELECTOR and program.estimate() > COST_MAX

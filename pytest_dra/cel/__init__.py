"""The CEL environment of Kubernetes' device selectors: compile, cost and evaluate them.

Exact in result, error class and cost against the Go package of Kubernetes 1.34 to 1.37.
Standard library and RE2 only. Names are loaded when they are first used::

    from pytest_dra.cel import Selector, environment, prepare

    selector = Selector('device.driver == "gpu.example.com"', environment(37))
    selector.matches(prepare([("gpu.example.com", device)]))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any
from typing import Final

if TYPE_CHECKING:
    from pytest_dra.cel.environments import Environment
    from pytest_dra.cel.environments import environment
    from pytest_dra.cel.errors import CelError
    from pytest_dra.cel.errors import CompileError
    from pytest_dra.cel.errors import EvaluationError
    from pytest_dra.cel.errors import Problem
    from pytest_dra.cel.prepared import Prepared
    from pytest_dra.cel.prepared import prepare
    from pytest_dra.cel.program import Outcome
    from pytest_dra.cel.program import Program
    from pytest_dra.cel.program import compile_derived
    from pytest_dra.cel.program import compile_selector
    from pytest_dra.cel.selector import Selector

__all__ = [
    "CelError",
    "CompileError",
    "Environment",
    "EvaluationError",
    "Outcome",
    "Prepared",
    "Problem",
    "Program",
    "Selector",
    "compile_derived",
    "compile_selector",
    "environment",
    "prepare",
]

_HOMES: Final = {
    "CelError": "errors",
    "CompileError": "errors",
    "Environment": "environments",
    "EvaluationError": "errors",
    "Outcome": "program",
    "Prepared": "prepared",
    "Problem": "errors",
    "Program": "program",
    "Selector": "selector",
    "compile_derived": "program",
    "compile_selector": "program",
    "environment": "environments",
    "prepare": "prepared",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

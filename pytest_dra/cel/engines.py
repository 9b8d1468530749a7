"""Engines behind one protocol: this package's own, and cel-python as a second opinion."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Final
from typing import Protocol

from pytest_dra.cel.environments import Environment
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.prepared import Prepared
from pytest_dra.cel.selector import Selector

OWN: Final = "own"
CEL_PYTHON: Final = "cel-python"

NAMES: Final = (OWN, CEL_PYTHON)
"""Engines by the name under which they are chosen."""


class CompiledSelector(Protocol):
    """A selector as an engine compiled it."""

    def matches(self, devices: Sequence[Prepared]) -> list[bool | CelError]:
        """For each device whether it is selected, or the error that it raises."""


class Engine(Protocol):
    """Compiles selectors. ``gaps`` says what it does not do as Kubernetes does."""

    name: str
    gaps: tuple[str, ...]

    def compile(self, expression: str, env: Environment) -> CompiledSelector:
        """Compile a selector.

        Raises:
            CompileError: the engine refuses it.
        """


class OwnEngine:
    """The engine of this package."""

    name = OWN
    gaps: tuple[str, ...] = ()

    def compile(self, expression: str, env: Environment) -> CompiledSelector:
        """Compile a selector."""
        return Selector(expression, env)


class EngineMissing(RuntimeError):
    """The engine is not installed."""


def engine(name: str = OWN) -> Engine:
    """The engine of a name.

    Raises:
        EngineMissing: it needs a package that is not installed; the message says which.
        ValueError: there is no such engine.
    """
    if name == OWN:
        return OwnEngine()
    if name != CEL_PYTHON:
        raise ValueError(f"no CEL engine {name!r}, want one of {', '.join(NAMES)}")
    if importlib.util.find_spec("celpy") is None:
        raise EngineMissing("cel-python is not installed: pip install 'pytest-dra[cel]'")
    from pytest_dra.cel.celpython import CelPythonEngine

    return CelPythonEngine()

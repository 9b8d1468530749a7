"""How the value of a variable is found: an input, or one of an enclosing comprehension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import Final

from pytest_dra.cel.run import Frame
from pytest_dra.cel.run import Scope
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import MutableList


def accumulator(frame: Frame) -> object:
    """The accumulator, which is set up when it is first asked for."""
    if not frame.ready:
        frame.ready = True
        value = frame.fold.init.run(frame.parent)
        if isinstance(value, list) and not value:
            value = MutableList()
        elif isinstance(value, CelMap) and not value:
            value = CelMap()
        frame.accu = value
    return frame.accu


def device(scope: Scope) -> object:
    """The device."""
    return scope.device


def named(name: str) -> Callable[[Scope], object]:
    """Reads one of several inputs, see :class:`pytest_dra.cel.inputs.Inputs`."""

    def read(scope: Any) -> object:
        return scope.device.named(name)

    return read


def _accumulator(scope: Any) -> object:
    return scope.accu if scope.ready else accumulator(scope)


def _first(scope: Any) -> object:
    return scope.first


_NEAREST: Final[tuple[Callable[[Scope], object], ...]] = (_accumulator, _first)
"""Readers of the innermost comprehension, by slot."""


def reader(depth: int, slot: int) -> Callable[[Scope], object]:
    """Reads a variable ``depth`` comprehensions outwards."""

    def read(scope: Any) -> object:
        for _ in range(depth):
            scope = scope.parent
        if slot == 0:
            return accumulator(scope)
        return scope.first if slot == 1 else scope.second

    return read if depth or slot == 2 else _NEAREST[slot]

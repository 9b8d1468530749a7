"""Which devices of a layout a list of selectors takes, remembered."""

from __future__ import annotations

import functools
from typing import Final

from pytest_dra.allocator.layouts import Layout
from pytest_dra.allocator.layouts import cel_features
from pytest_dra.allocator.rules import Rules
from pytest_dra.cel import CelError
from pytest_dra.cel import CompileError
from pytest_dra.cel import Selector
from pytest_dra.cel import environment

_COMPILED_MAX: Final = 1024
_CHAINS_MAX: Final = 512
"""Lists of selectors that are remembered; the oldest is forgotten."""


@functools.lru_cache(maxsize=_COMPILED_MAX)
def _compiled(expression: str, minor: int, features: frozenset[str]) -> Selector | CompileError:
    try:
        return Selector(expression, environment(minor, features=features))
    except CompileError as error:
        return error


class Chain:
    """Selectors that are asked one after the other until one says no."""

    __slots__ = ("_answers", "_features", "_minor", "expressions")

    def __init__(self, expressions: tuple[str, ...], rules: Rules) -> None:
        self.expressions = expressions
        self._minor = rules.minor
        self._features = cel_features(rules)
        self._answers: dict[int, tuple[int, int]] = {}

    def answer(self, layout: Layout) -> tuple[int, int]:
        """Devices that all selectors take, and devices on which one fails before that."""
        known = self._answers.get(layout.id)
        if known is None:
            known = self._answers[layout.id] = self._ask(layout)
        return known

    def _ask(self, layout: Layout) -> tuple[int, int]:
        taken, failed = layout.full, 0
        for expression in self.expressions:
            if not taken:
                break
            yes, wrong = self._one(expression, layout)
            failed |= taken & wrong
            taken &= yes
        return taken, failed

    def _one(self, expression: str, layout: Layout) -> tuple[int, int]:
        selector = _compiled(expression, self._minor, self._features)
        if isinstance(selector, CompileError):
            return 0, layout.full
        yes = wrong = 0
        bit = 1
        for result in selector.matches(layout.prepared):
            if result is True:
                yes |= bit
            elif result is not False:
                wrong |= bit
            bit <<= 1
        return yes, wrong

    def first_no(self, layout: Layout, place: int) -> tuple[int, CelError | CompileError | None]:
        """Number of the selector that says no to a device, with the error if it failed.

        -1 if there is none.
        """
        for number, expression in enumerate(self.expressions):
            selector = _compiled(expression, self._minor, self._features)
            if isinstance(selector, CompileError):
                return number, selector
            (result,) = selector.matches([layout.prepared[place]])
            if result is not True:
                return number, None if result is False else result
        return -1, None


class Chains:
    """Lists of selectors by their expressions."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._known: dict[tuple[str, ...], Chain] = {}

    def find(self, expressions: tuple[str, ...]) -> Chain:
        """The chain of some expressions."""
        chain = self._known.get(expressions)
        if chain is None:
            if len(self._known) >= _CHAINS_MAX:
                del self._known[next(iter(self._known))]
            chain = self._known[expressions] = Chain(expressions, self._rules)
        return chain

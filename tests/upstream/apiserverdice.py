"""What is drawn for a request sequence, in few words; Hypothesis draws, and knows how to shrink."""

from __future__ import annotations

import copy
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import Final
from typing import TypeVar

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
"""Gives a value of a strategy."""

T = TypeVar("T")

_NUMBER: Final = 100


class Dice:
    """What is drawn for one sequence; the first of each choice is the simplest."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def pick(self, values: Sequence[T]) -> T:
        """One of several."""
        found: T = (
            values[self._draw(st.integers(0, len(values) - 1))] if len(values) > 1 else values[0]
        )
        return copy.deepcopy(found)

    def chance(self, percent: int) -> bool:
        """True so many times in a hundred."""
        drawn: int = self._draw(st.integers(0, _NUMBER - 1))
        return drawn >= _NUMBER - percent

    def number(self, least: int, most: int) -> int:
        """A whole number."""
        drawn: int = self._draw(st.integers(least, most))
        return drawn

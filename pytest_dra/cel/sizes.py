"""Ranges of sizes and costs, in unsigned 64-bit numbers that stop at the largest."""

from __future__ import annotations

import math
from typing import Final
from typing import NamedTuple

MAX: Final = 2**64 - 1
"""Where every sum and product stops; as an estimate it means unbounded."""

STRING_FACTOR: Final = 0.1
"""Cost of one character of a string that is traversed."""

REGEX_FACTOR: Final = 0.25
"""Cost of one character of a pattern."""

SELECTOR_COST: Final = 10
"""Cost of parsing a field or label selector, apart from its length."""

CHECK_COST: Final = 350_000
"""Cost of a check of authorization."""

AUTHORIZATION: Final = (
    "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed",
    "reason", "error", "errored",
)  # fmt: skip
"""Functions of authorization with the cost of one step."""

LIST_COST: Final = 10
MAP_COST: Final = 30
MESSAGE_COST: Final = 40


def add(one: int, other: int) -> int:
    """Sum."""
    return min(one + other, MAX)


def scale(number: int, factor: float) -> int:
    """Product with a factor, rounded up as the reference does."""
    value = float(number) * factor
    if value >= float(MAX):
        return MAX
    return math.ceil(value)


class Range(NamedTuple):
    """From the least to the greatest."""

    low: int
    high: int

    def plus(self, other: Range) -> Range:
        """Sum of two ranges."""
        return Range(add(self.low, other.low), add(self.high, other.high))

    def times(self, other: Range) -> Range:
        """Product of two ranges."""
        return Range(min(self.low * other.low, MAX), min(self.high * other.high, MAX))

    def scaled(self, factor: float) -> Range:
        """Product with a factor."""
        return Range(scale(self.low, factor), scale(self.high, factor))

    def union(self, other: Range) -> Range:
        """The range that holds both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


def selector_cost(length: Range) -> Range:
    """Cost of a field or label selector of a length: one requirement for two characters."""
    requirements = length.scaled(0.5).scaled(50)
    return fixed(SELECTOR_COST).plus(length.scaled(STRING_FACTOR)).plus(requirements)


NOTHING: Final = Range(0, 0)
ONE: Final = Range(1, 1)
UNKNOWN: Final = Range(0, MAX)


def fixed(number: int) -> Range:
    """A range of one number."""
    return Range(number, number)

"""Where the marks of the small plots lie; the templates draw them as SVG."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

WIDTH = 320
"""Units of a plot, which are pixels on a phone."""

BASE = 92
"""Where the bars stand."""

TALL = 70
"""Units of the tallest bar."""

MARGIN = 8
"""Units on both sides, so that no mark is cut."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its captions: ``number`` above it, ``bound`` below it."""

    x: float
    y: float
    width: float
    height: float
    number: int
    bound: str


def bars(found: Sequence[Mapping[str, Any]]) -> list[Bar]:
    """Bars of a distribution, evenly spaced: their bounds grow by a factor."""
    if not found:
        return []
    highest = max(1, *(each["calls"] for each in found))
    room = (WIDTH - 2 * MARGIN) / len(found)
    made = []
    for place, each in enumerate(found):
        height = max(1.0, TALL * each["calls"] / highest)
        x = MARGIN + place * room
        bound = milliseconds(each["upTo"])
        made.append(
            Bar(
                round(x + 1, 1),
                round(BASE - height, 1),
                round(room - 2, 1),
                round(height, 1),
                each["calls"],
                bound,
            )
        )
    return made


def dots(values: Sequence[float]) -> list[float]:
    """The place of each value on an axis from 0 to a little beyond the greatest."""
    most = axis_end(values)
    return [round(MARGIN + (WIDTH - 2 * MARGIN) * each / most, 1) for each in values]


TALLY_LIMIT = 40
"""Marks that still can be told apart beside each other."""


def tally(writes: int) -> list[float]:
    """The place of a mark for each write, evenly spaced: how many they are, not when."""
    shown = min(writes, TALLY_LIMIT)
    room = (WIDTH - 2 * MARGIN) / max(1, shown)
    return [round(MARGIN + (place + 0.5) * room, 1) for place in range(shown)]


def axis_end(values: Sequence[float]) -> float:
    """A round number that no value exceeds."""
    most = max(values, default=0.0)
    scale = 0.1
    while scale * 10 < most:
        scale *= 10
    for factor in (1, 2, 5, 10):
        if scale * factor >= most:
            return round(scale * factor, 3)
    return most


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar that shows shares of a whole."""

    state: str
    number: int
    x: float
    width: float


def shares(states: Mapping[str, int], order: Sequence[str]) -> list[Part]:
    """The pieces of a bar of 100 units, those of no case left out."""
    whole = sum(states.get(each, 0) for each in order)
    made, x = [], 0.0
    for state in order:
        number = states.get(state, 0)
        if number:
            width = 100 * number / whole
            made.append(Part(state, number, round(x, 2), round(width, 2)))
            x += width
    return made


def milliseconds(value: float) -> str:
    """``5 ms``, ``2 s``."""
    return f"{value / 1000:g} s" if value >= 1000 else f"{value:g} ms"

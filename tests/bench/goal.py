"""What a figure should be, and the line that says whether it is."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    """What a figure should be at most; ``unit`` is that of the values."""

    name: str
    unit: str
    most: float
    digits: int = 2

    def line(self, values: Sequence[float], *, peer: tuple[str, float] | None = None) -> str:
        """Minimum, median, maximum, ratio to a peer's median, and whether the goal is met."""
        middle = statistics.median(values)
        numbers = " ".join(
            f"{value:8.{self.digits}f}" for value in (min(values), middle, max(values))
        )
        ratio = f"{middle / peer[1]:.3f}x {peer[0]} ({peer[1]:.4g} {self.unit}), " if peer else ""
        met = "met" if middle < self.most else "MISSED"
        return f"{self.name:34} {numbers} {self.unit:3} {ratio}goal < {self.most:g}: {met}\n"

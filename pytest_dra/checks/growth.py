"""Whether what a driver uses grows from cycle to cycle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from pytest_dra.spec import Violation

PER_CYCLE: Final = 0.02
"""Descriptors, threads and files that may be added per cycle: one in fifty is noise."""

KIB_PER_CYCLE: Final = 20.0
"""Resident memory that may be added per cycle."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a driver's processes use after so many cycles; ``memory`` is resident, in KiB."""

    cycles: int
    descriptors: int
    threads: int
    files: int
    memory: int


_LIMITS: Final = {
    "descriptors": (PER_CYCLE, "file descriptors"),
    "threads": (PER_CYCLE, "threads"),
    "files": (PER_CYCLE, "files"),
    "memory": (KIB_PER_CYCLE, "KiB of memory"),
}


def must_not_grow(seen: Sequence[Usage]) -> None:
    """Nothing grows steadily: its slope over the cycles stays below its limit.

    Args:
        seen: at least two measurements, oldest first.
    """
    first, last = seen[0], seen[-1]
    for name, (limit, words) in _LIMITS.items():
        values = [float(getattr(each, name)) for each in seen]
        slope = _slope([float(each.cycles) for each in seen], values)
        if slope > limit:
            raise Violation(
                f"cycles {first.cycles} to {last.cycles} of Prepare and Unprepare",
                got=f"{slope:.2f} {words} more per cycle ({values[0]:.0f}, then {values[-1]:.0f})",
                want=f"at most {limit:g} per cycle: nothing that grows",
            )


def _slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the straight line that lies closest (least squares)."""
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    below = sum((x - middle_x) ** 2 for x in xs)
    above = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return above / below if below else 0.0

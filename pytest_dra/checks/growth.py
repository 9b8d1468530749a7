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


MEMORY: Final = "memory"

_LIMITS: Final = {
    "descriptors": (PER_CYCLE, "file descriptors"),
    "threads": (PER_CYCLE, "threads"),
    "files": (PER_CYCLE, "files"),
    MEMORY: (KIB_PER_CYCLE, "KiB of memory"),
}


def growing(seen: Sequence[Usage]) -> str:
    """The first of descriptors, threads, files and memory that grows steadily; "" if none does.

    Args:
        seen: at least two measurements, oldest first.
    """
    for name, (limit, _) in _LIMITS.items():
        if _growth(seen, name) > limit:
            return name
    return ""


def must_not_grow(seen: Sequence[Usage]) -> None:
    """Nothing grows steadily: its slope over the cycles stays below its limit.

    Args:
        seen: at least two measurements, oldest first.
    """
    name = growing(seen)
    if name:
        (limit, words), first, last = _LIMITS[name], seen[0], seen[-1]
        raise Violation(
            f"cycles {first.cycles} to {last.cycles} of Prepare and Unprepare",
            got=f"{_growth(seen, name):.2f} {words} more per cycle "
            f"({getattr(first, name)}, then {getattr(last, name)})",
            want=f"at most {limit:g} per cycle: nothing that grows",
        )


def _growth(seen: Sequence[Usage], name: str) -> float:
    """How much more of it there is per cycle."""
    values = [float(getattr(each, name)) for each in seen]
    return _slope([float(each.cycles) for each in seen], values)


def _slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the straight line that lies closest (least squares)."""
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    below = sum((x - middle_x) ** 2 for x in xs)
    above = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return above / below if below else 0.0

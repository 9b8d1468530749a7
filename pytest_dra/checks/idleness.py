"""Idle stretches of a run, and what a driver writes in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Sequence
from itertools import pairwise

from pytest_dra.spec import Violation

SETTLE_S = 5.0
"""Publishing has settled after this long without a slice write (term of the catalogue)."""

SETTLE_LIMIT_S = 60.0
"""From then on after the first one a write is no settling any more."""

REPAIR_S = 150.0
"""So late may a repair begin (V26: at the next multiple of 30 or 60 s)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Write:
    """A slice write: when, its serial number, and whether the API server refused it."""

    at: float
    serial: int
    refused: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Idleness:
    """Seconds without a provocation after what the last one caused, and the writes in them.

    ``longest`` is the longest stretch of them.
    """

    seconds: float
    writes: tuple[Write, ...]
    longest: float

    def __add__(self, other: Idleness) -> Idleness:
        return Idleness(
            self.seconds + other.seconds,
            (*self.writes, *other.writes),
            max(self.longest, other.longest),
        )


NONE = Idleness(0.0, (), 0.0)


def idleness(provoked: Iterable[float], writes: Sequence[Write], *, until: float) -> Idleness:
    """How long one instance was idle, and what it wrote meanwhile.

    The first burst of writes after a provocation is what it has caused, also if it comes late.
    While its last write was refused it goes on: clients try again after pauses that grow.

    Args:
        provoked: when something happened that a driver may answer with writes.
        writes: its slice writes.
        until: the present.
    """
    found = NONE
    for began, end in pairwise([*sorted(provoked), until]):
        inside = [write for write in writes if began < write.at <= end]
        settled = began
        if inside and inside[0].at - began <= REPAIR_S:
            first = last = inside.pop(0)
            while inside and (last.refused or inside[0].at - last.at <= SETTLE_S):
                if inside[0].at - first.at > SETTLE_LIMIT_S:
                    break
                last = inside.pop(0)
            settled = last.at
        if end - settled > SETTLE_S:
            found += Idleness(end - settled, tuple(inside), end - settled)
    return found


def single_write(found: Idleness) -> str:
    """A warning of the one write in all idle stretches; empty if there was none, or more."""
    if len(found.writes) != 1:
        return ""
    return "ResourceSlices: one write in idle time; want none: nothing has changed"


def writes_must_not_repeat(found: Idleness) -> None:
    """At most one write in all idle stretches: a single one may have had a reason."""
    if len(found.writes) > 1:
        raise Violation(
            f"ResourceSlices in {found.seconds:.0f} s of idle time",
            got=f"{len(found.writes)} writes",
            want="none: nothing has changed",
            proof=tuple(write.serial for write in found.writes),
        )

"""Figures of a run: what calls and publishing took, and what was written without a reason.

They inform and decide nothing: a bench with fake hardware says little about a node.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from types import MappingProxyType

from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import Entry
from pytest_dra.timeline import ProcessEvent

PREPARE = "NodePrepareResources"
UNPREPARE = "NodeUnprepareResources"
METHODS = (PREPARE, UNPREPARE)

VALUES_LIMIT = 20_000
"""Calls that are looked at: a soak makes more, which change no figure."""

STARTS_LIMIT = 50
"""Starts whose publication is shown."""

BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 60_000)
"""Upper bounds of the bars of a distribution; the last bar takes what is beyond."""

SLICES = "resourceslices"
WRITES = frozenset({"create", "update", "patch"})
ACCEPTED = 300
"""HTTP status codes below this mean that the server did it."""

DIGITS = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured in one process, or in all of a run's together.

    Attributes:
        calls_ms: milliseconds of each answered call that nothing disturbed, by method.
        published_s: seconds from a process's start to its first accepted slice write.
        idle_s: seconds in which nobody gave the driver a reason to write; ``idle_writes`` then.
    """

    calls_ms: Mapping[str, Sequence[float]] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    published_s: Sequence[float] = ()
    idle_s: float = 0.0
    idle_writes: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            calls_ms={
                each: (*self.calls_ms.get(each, ()), *other.calls_ms.get(each, ()))[:VALUES_LIMIT]
                for each in METHODS
            },
            published_s=(*self.published_s, *other.published_s),
            idle_s=self.idle_s + other.idle_s,
            idle_writes=self.idle_writes + other.idle_writes,
        )

    def to_dict(self) -> Json:
        """Plain data that xdist's channel carries."""
        return {
            "calls_ms": {each: list(found) for each, found in self.calls_ms.items()},
            "published_s": list(self.published_s),
            "idle_s": self.idle_s,
            "idle_writes": self.idle_writes,
        }

    def shown(self) -> Json:
        """The form of the report: distributions, and no single call."""
        return {
            "prepare": distribution(self.calls_ms.get(PREPARE, ())),
            "unprepare": distribution(self.calls_ms.get(UNPREPARE, ())),
            "publishedSeconds": [
                round(each, DIGITS) for each in sorted(self.published_s)[:STARTS_LIMIT]
            ],
            "idle": {"seconds": round(self.idle_s, 1), "writes": self.idle_writes},
        }


NONE = Figures()


def measured(entries: Iterable[Entry[object]], users: Mapping[str, str]) -> Figures:
    """The figures of a timeline, without those of idleness.

    Args:
        entries: oldest first; what the suite disturbed on purpose is left out.
        users: name of a driver's instance by its identity on the API server.
    """
    calls: dict[str, list[float]] = {each: [] for each in METHODS}
    started: dict[str, float] = {}
    published: list[float] = []
    for entry in entries:
        event = entry.event
        if isinstance(event, ProcessEvent):
            started.pop(event.instance, None)
            if event.action == "start" and not entry.disturbed:
                started[event.instance] = entry.at
        elif entry.disturbed:
            continue
        elif isinstance(event, DraCall):
            if event.method in calls and event.code == "OK":
                calls[event.method].append(round(event.duration_s * 1000, DIGITS))
        elif isinstance(event, ApiRequest) and _publishes(event):
            began = started.pop(users.get(event.identity, ""), None)
            if began is not None:
                published.append(entry.at - began)
    return Figures(
        calls_ms={each: found[:VALUES_LIMIT] for each, found in calls.items()},
        published_s=published,
    )


def _publishes(event: ApiRequest) -> bool:
    return event.resource == SLICES and event.verb in WRITES and event.code < ACCEPTED


def distribution(values_ms: Sequence[float]) -> Json:
    """Number, quantiles and bars of milliseconds; of no values only the number."""
    if not values_ms:
        return {"calls": 0}
    ordered = sorted(values_ms)
    bars = dict.fromkeys(BOUNDS_MS, 0)
    for each in ordered:
        bars[next((bound for bound in BOUNDS_MS if each <= bound), BOUNDS_MS[-1])] += 1
    return {
        "calls": len(ordered),
        "p50": quantile(ordered, 0.5),
        "p99": quantile(ordered, 0.99),
        "max": round(ordered[-1], DIGITS),
        "bars": [{"upTo": bound, "calls": number} for bound, number in bars.items() if number],
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest of the ordered values that at least this share does not exceed."""
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], DIGITS)

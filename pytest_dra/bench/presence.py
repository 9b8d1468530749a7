"""When which device of a driver was published."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from pytest_dra.bench import history
from pytest_dra.checks.health import Name
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline

Span = tuple[float, float]
"""From when to when, on the timeline's clock; infinite for what is still there."""


class Presence:
    """The devices of one driver's slices, on all nodes, as they came and went so far."""

    def __init__(self, timeline: Timeline, driver: str) -> None:
        self._spans: dict[Name, list[Span]] = {}
        slices: dict[str, set[Name]] = {}
        there: Counter[Name] = Counter()
        for step in history.steps(timeline):
            before = set(there)
            for name in step.names:
                there.subtract(slices.pop(name, ()))
                slices[name] = _devices(step.after, name, driver)
                there.update(slices[name])
            there = +there
            self._note(set(there) - before, before - set(there), step.entry.at)

    def _note(self, came: set[Name], went: set[Name], at: float) -> None:
        for name in came:
            self._spans.setdefault(name, []).append((at, math.inf))
        for name in went:
            began, _ = self._spans[name].pop()
            self._spans[name].append((began, at))

    def at_some_time(self, name: Name, since: float, until: float) -> bool:
        """True if the device was there at any time between two moments."""
        return any(began <= until and end >= since for began, end in self._spans.get(name, ()))

    def throughout(self, name: Name, since: float, until: float) -> bool:
        """True if the device was there the whole time between two moments."""
        return any(began <= since and until <= end for began, end in self._spans.get(name, ()))


def _devices(slices: Mapping[str, Json], name: str, driver: str) -> set[Name]:
    spec = (slices.get(name) or {}).get("spec") or {}
    if spec.get("driver") != driver:
        return set()
    pool = str((spec.get("pool") or {}).get("name"))
    return {(pool, str(device.get("name"))) for device in spec.get("devices") or []}

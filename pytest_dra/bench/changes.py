"""Changes of what a driver publishes: from when to when, and its slices before and after."""

from __future__ import annotations

import dataclasses

from pytest_dra.bench import history
from pytest_dra.checks.pools import Moment
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change; ``since`` and ``until`` are serials of the timeline, the end not included.

    ``plugged``: the devices themselves changed, so that a generation must show it.
    """

    during: str
    user: str
    since: int
    until: int
    old: tuple[Json, ...]
    new: tuple[Json, ...]
    plugged: bool = False


def moments(timeline: Timeline, change: Change) -> list[Moment]:
    """The slices of the change's pools after each write of the driver within it."""
    pools = {_pool(item) for item in (*change.old, *change.new)}
    return [
        Moment(
            serial=step.entry.serial,
            slices=tuple(item for item in step.after.values() if _pool(item) in pools),
        )
        for step in history.steps(timeline)
        if change.since <= step.entry.serial < change.until
        and step.entry.event.identity == change.user
    ]


def _pool(item: Json) -> tuple[str, str]:
    spec = item.get("spec") or {}
    return str(spec.get("driver")), str((spec.get("pool") or {}).get("name"))

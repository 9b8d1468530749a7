"""What makes a claim impossible: a smallest set of requirements that cannot be met together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.explaining import edits as editing
from pytest_dra.explaining.trials import WORK_MAX
from pytest_dra.explaining.trials import Edit
from pytest_dra.explaining.trials import Exhausted
from pytest_dra.explaining.trials import Trials
from pytest_dra.explaining.trials import sources

Json = dict[str, Any]

_ORDER: Final = (
    editing.REQUEST,
    editing.CLASS,
    editing.COUNT,
    editing.CAPACITY,
    editing.SELECTOR,
    editing.CONSTRAINT,
    editing.TAINT,
    editing.HOLDER,
)
"""What is acquitted first where one of several can be blamed."""


_SHARE: Final = WORK_MAX // 2
"""Work that is left for the changes that would help."""


def binding(trials: Trials) -> tuple[str, ...]:
    """The requirements that together cannot be met on any node; without any of them it would fit.

    Empty if not even a claim without requirements has a device, or nothing was tried.
    """
    if not trials.answers:
        return ()
    try:
        with trials.keeping(_SHARE):
            return _core(trials)
    except Exhausted:
        return ()


def _core(trials: Trials) -> tuple[str, ...]:
    waived = _requirements(trials)
    if trials.fits(waived) is None:
        return ()
    kept = sorted(waived, key=lambda one: _ORDER.index(one.kind))
    acquitted: list[Edit] = []
    for one in list(kept):
        # Waiving it may not be what makes the rest possible.
        if trials.fits([*acquitted, one]) is None:
            acquitted.append(one)
            kept.remove(one)
    return tuple(dict.fromkeys(one.requirement for one in kept))


def _requirements(trials: Trials) -> list[Edit]:
    """Every requirement as the edit that gives it up."""
    claims: Sequence[Json] = trials.claims
    found: dict[str, Edit] = {}
    for one in editing.of_claims(trials):
        if one.kind != editing.COUNT:
            found.setdefault(one.requirement, one)
    for number, place, which, name, source in sources(claims):
        if (source.get("count") or 0) > 1 or source.get("allocationMode") == "All":
            count = source.get("count") or "all"
            one = editing.fewer((number, place, which), f"request {name}", 1)
            found[f"{name}: count"] = _named(one, f"request {name}: {count} devices")
    if trials.scheduler.rules.taints:
        found["taints"] = _named(editing.tolerated(claims, "", ""), "taints of devices")
    free = editing.everything_free(trials)
    if free.released:
        found["in use"] = free
    return list(found.values())


def _named(edit: Edit, requirement: str) -> Edit:
    return dataclasses.replace(edit, requirement=requirement)

"""Claims without anything special: an answer from sets of devices alone, or none yet."""

from __future__ import annotations

from typing import Final

from pytest_dra.allocator.index import Index
from pytest_dra.allocator.matching import match
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import Option
from pytest_dra.allocator.requests import Plan
from pytest_dra.allocator.results import Chosen
from pytest_dra.allocator.state import State

HOPELESS: Final = "hopeless"
"""Some request has too few devices, and nothing can abort the attempt."""


def careful(index: Index, view: View) -> bool:
    """True if what is looked at on one node decides about the next ones."""
    differing = index.generations_differ
    return bool(differing and view.consumers) and any(pool.key in differing for pool in view.pools)


def look(plan: Plan, view: View, index: Index, state: State) -> str | list[Chosen] | None:
    """:data:`HOPELESS`, the devices for a simple plan, or None if a search has to tell."""
    rules = index.rules
    busy = state.busy(view) if state.pools else 0
    signature = view.signature
    wanted: list[tuple[Option, int]] = []
    few = False
    if view.broken or view.poison or (rules.permutes and (view.shareable or view.consumers)):
        return None
    for unit in plan.units:
        option = unit.options[0]
        found = option.matches.get(signature) or match(option, view, rules)
        free = -1 if option.admin else ~busy
        if found.fatal & free:
            return None
        usable = found.usable & free
        if view.elsewhere:
            usable &= ~view.elsewhere
        if usable.bit_count() < option.count:
            few = True
        wanted.append((option, usable))
    if few:
        return None if careful(index, view) else HOPELESS
    return _lowest(wanted, view, state) if plan.plain and not view.skipping else None


def _lowest(wanted: list[tuple[Option, int]], view: View, state: State) -> list[Chosen] | None:
    """The first devices for each request; None if one of them is shared or counted."""
    special = view.consumers | view.shareable
    picked = 0
    chosen: list[Chosen] = []
    for number, (option, usable) in enumerate(wanted):
        usable &= ~picked
        for _ in range(option.count):
            low = usable & -usable
            if not low or low & special:
                return None
            usable ^= low
            picked |= low
            place = low.bit_length() - 1
            if state.pools and _is_consumed(place, view, state):
                return None
            chosen.append((number, option, place))
    return chosen


def _is_consumed(place: int, view: View, state: State) -> bool:
    part = view.part(place)
    return state.consumed(part.slice.key, part.layout.name(place - part.offset)) is not None

"""What of a node's devices a request can take, apart from what else is taken.

Most of it depends on the contents of slices only and is remembered for nodes that look the same.
"""

from __future__ import annotations

from typing import Any
from typing import Final

from pytest_dra.allocator import taints
from pytest_dra.allocator.capacity import Price
from pytest_dra.allocator.capacity import price
from pytest_dra.allocator.layouts import Layout
from pytest_dra.allocator.layouts import encoded
from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.requests import Option
from pytest_dra.allocator.rules import Rules

_PRICES_MAX: Final = 8192
"""Prices that are remembered, by what is asked for and what a device has."""

_prices: dict[tuple[bytes, Rules], Price] = {}


def price_of(option: Option, layout: Layout, place: int, rules: Rules) -> Price:
    """What one share of a device costs for a request."""
    capacity = layout.devices[place].get("capacity") or {}
    key = encoded((option.requests, capacity)), rules
    found = _prices.get(key)
    if found is None:
        if len(_prices) >= _PRICES_MAX:
            _prices.clear()
        found = _prices[key] = price(option.requests, capacity, rules)
    return found


class Match:
    """Sets of devices of a view for one request.

    ``taken`` are those that the selectors take, ``failed`` those on which one fails, ``roomy``
    those with the capacity if nobody uses them, ``unpriced`` those whose capacity aborts the
    attempt, ``tolerated`` those without a taint that keeps the request off. ``usable`` is what
    is left of all that, ``fatal`` what aborts when it is reached.
    """

    __slots__ = ("failed", "fatal", "roomy", "taken", "tolerated", "unpriced", "usable")

    def __init__(self) -> None:
        self.taken = self.failed = self.roomy = self.unpriced = self.tolerated = 0
        self.usable = self.fatal = 0


def match(option: Option, view: View, rules: Rules) -> Match:
    """The sets for a request, remembered by what the view looks like."""
    found: Match | None = option.matches.get(view.signature)
    if found is None:
        found = option.matches[view.signature] = _match(option, view, rules)
    return found


def _match(option: Option, view: View, rules: Rules) -> Match:
    made = Match()
    for part in view.parts:
        layout, offset = part.layout, part.offset
        taken, failed = option.chain.answer(layout)
        if layout.conditional and not rules.binding:
            taken &= ~layout.conditional
            failed &= ~layout.conditional
        made.taken |= taken << offset
        made.failed |= failed << offset
        roomy, unpriced = _room(option, layout, taken, rules)
        made.roomy |= roomy << offset
        made.unpriced |= unpriced << offset
        made.tolerated |= _tolerated(option, layout, rules) << offset
    made.usable = made.taken & made.roomy & made.tolerated
    if not rules.partitionable:
        made.usable &= ~view.consumers
    made.fatal = made.failed | (made.taken & made.unpriced)
    return made


def _room(option: Option, layout: Layout, taken: int, rules: Rules) -> tuple[int, int]:
    """Devices with enough capacity if nobody uses them, and those that abort the attempt."""
    if not rules.sharing:
        return layout.full, 0
    roomy, unpriced = layout.full, 0
    looked_at = taken if option.requests else taken & layout.priced
    for place in ordered(looked_at):
        cost = price_of(option, layout, place, rules)
        if cost.fault:
            unpriced |= 1 << place
        if cost.fault or cost.refusal:
            roomy &= ~(1 << place)
    return roomy, unpriced


def _tolerated(option: Option, layout: Layout, rules: Rules) -> int:
    found = layout.full
    if not rules.taints or not layout.tainted:
        return found
    for place in ordered(layout.tainted):
        if taints.untolerated(layout.devices[place]["taints"], option.tolerations, rules.minor):
            found &= ~(1 << place)
    return found


def why_fatal(option: Option, view: View, place: int, rules: Rules) -> str:
    """What aborts the attempt when a device of :attr:`Match.fatal` is reached."""
    if view.poison >> place & 1:
        return "a pool is invalid"
    part = view.part(place)
    inner = place - part.offset
    number, error = option.chain.first_no(part.layout, inner)
    name = f"device {'/'.join(part.slice.key)}/{part.layout.name(inner)}"
    if error is not None:
        text: Any = getattr(error, "message", error)
        return f"selector #{number} on {name}: {text}"
    return f"{name}: {price_of(option, part.layout, inner, rules).fault}"

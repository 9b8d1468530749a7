"""Devices that make no difference to each other, as far as some claims can see."""

from __future__ import annotations

from typing import Any

from pytest_dra.allocator.layouts import ordered
from pytest_dra.allocator.problem import Problem


def classes(problem: Problem) -> dict[int, int]:
    """For each device those that differ from it in nothing that the claims can see."""
    usable = 0
    for domain in problem.domains:
        usable |= domain.usable | domain.fatal
    groups: dict[Any, int] = {}
    keys: dict[int, Any] = {}
    for place in ordered(usable):
        keys[place] = key = _looks(problem, place)
        groups[key] = groups.get(key, 0) | 1 << place
    return {place: groups[key] for place, key in keys.items()}


def _looks(problem: Problem, place: int) -> Any:
    """What of a device the claims can see."""
    view, bit = problem.view, 1 << place
    part = view.part(place)
    inner = place - part.offset
    device = part.layout.devices[inner]
    values: list[Any] = []
    for domain in problem.domains:
        values.append(bool(domain.fatal & bit))
        if domain.usable & bit:
            option = domain.option
            values.append([problem.look_up(option, one, place) for one in option.constraints])
        else:
            values.append(None)
    looks: list[Any] = [_text(values), bool(problem.busy & bit)]
    if view.consumers & bit:
        looks += [part.pool.key, _text(device.get("consumesCounters"))]
    stored = problem.stored(place)
    if view.shareable & bit or stored is not None:
        looks += [bool(view.shareable & bit), _text(device.get("capacity")), _text(stored)]
        use = problem.state.pools.get(part.slice.key)
        looks.append(use is not None and use.shared(part.layout.name(inner)))
    return tuple(looks)


def _text(value: Any) -> str:
    """A text that is the same only for what is the same; sets in an order."""
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_text(one) for one in value)}]"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(repr(one) for one in value))}}}"
    return repr(value)

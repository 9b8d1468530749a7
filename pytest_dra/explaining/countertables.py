"""What is left of shared counters, beside what the free devices of a node take of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pytest_dra.allocator.attempt import Attempt
from pytest_dra.allocator.counters import declared
from pytest_dra.allocator.pools import Part
from pytest_dra.allocator.pools import View
from pytest_dra.api.quantity import NANO

_SUFFIXES: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_GROUPS_MAX: Final = 6
"""Combinations of compatibility groups that are told."""


def counter_lines(attempt: Attempt, view: View, free: Iterable[int]) -> tuple[str, ...]:
    """A line per counter that the free devices cannot all have, and per set with groups."""
    parts: dict[int, list[tuple[Part, int]]] = {}
    for place in sorted(free):
        part = view.part(place)
        if view.consumers >> place & 1:
            parts.setdefault(id(part.pool), []).append((part, place - part.offset))
    lines: list[str] = []
    for devices in parts.values():
        lines += _counters(attempt, devices)
        lines += _groups(attempt, devices)
    return tuple(lines)


def _counters(attempt: Attempt, devices: list[tuple[Part, int]]) -> Iterable[str]:
    pool = devices[0][0].pool
    taken: dict[tuple[str, str], list[int]] = {}
    for part, inner in devices:
        for key, amount in part.layout.consumption(inner).items():
            taken.setdefault(key, []).append(amount)
    for key, left in attempt.ledger.available(pool).items():
        amounts = taken.get(key) or []
        if sum(amounts) > left:
            least, most = min(amounts), max(amounts)
            each = _text(least) if least == most else f"{_text(least)} to {_text(most)}"
            yield (
                f"counter {'/'.join(key)} of pool {'/'.join(pool.key)}: {_text(left)} left, "
                f"the {len(amounts)} free devices take {each} each"
            )


def _groups(attempt: Attempt, devices: list[tuple[Part, int]]) -> Iterable[str]:
    if not attempt.rules.groups:
        return
    found: dict[str, dict[str, int]] = {}
    for part, inner in devices:
        for name, groups in declared(part.layout.devices[inner]):
            text = "{" + ", ".join(sorted(groups)) + "}"
            counts = found.setdefault(name, {})
            counts[text] = counts.get(text, 0) + 1
    for name, counts in found.items():
        if len(counts) > 1:
            told = [f"{count} x {text}" for text, count in list(counts.items())[:_GROUPS_MAX]]
            yield (
                f"compatibility groups on counter set {name}: {', '.join(told)}; devices in use "
                "together need one in common"
            )


def _text(nanos: int) -> str:
    """An amount as people write it."""
    whole, rest = divmod(nanos, NANO)
    if rest:
        return f"{nanos / NANO:g}"
    for suffix, unit in _SUFFIXES:
        if whole and whole % unit == 0:
            return f"{whole // unit}{suffix}"
    return str(whole)

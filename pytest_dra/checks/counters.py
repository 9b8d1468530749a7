"""Shared counters of partitionable devices: what refers to what in a pool."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.api.quantity import QuantityError
from pytest_dra.checks.attributes import full_name
from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.flaws import device_text
from pytest_dra.checks.flaws import devices_of
from pytest_dra.checks.flaws import driver_of
from pytest_dra.spec import Json

PAIRS_MAX: Final = 20_000
"""Pairs of devices of one pool that are tried: one of each kind of overlap comes early."""

Pools = Mapping[tuple[str, str], Sequence[Json]]
"""Slices of the newest generation by driver and pool."""


def sets_must_be_unique(pools: Pools) -> Iterator[Flaw]:
    """No counter set has the name of another one in its pool."""
    for (driver, pool), members in sorted(pools.items()):
        seen: dict[str, str] = {}
        for item in members:
            here = str((item.get("metadata") or {}).get("name", ""))
            for index, found in enumerate((item.get("spec") or {}).get("sharedCounters") or []):
                name = str(found.get("name", ""))
                if name in seen:
                    yield Flaw(
                        item=item,
                        field=f"spec.sharedCounters[{index}].name",
                        where=f"counter set {name!r} in pool {pool!r} of {driver}",
                        got=f"in slices {seen[name]} and {here}",
                        want="a name that is unique in the pool",
                    )
                seen.setdefault(name, here)


def consumed_must_exist(pools: Pools) -> Iterator[Flaw]:
    """What a device consumes is a counter of its own pool and generation."""
    for members in pools.values():
        known = _counters(members)
        for item, path, device, entry, counter, _ in _consumptions(members):
            name = str(entry.get("counterSet", ""))
            if name not in known:
                got = f"no counter set {name!r} in the pool"
            elif counter not in known[name]:
                got = f"counter set {name!r} has no counter {counter!r}"
            else:
                continue
            yield Flaw(
                item=item,
                field=path,
                where=f"consumesCounters of {device_text(item, device)}",
                got=got,
                want="counters that the newest generation of the pool has",
            )


def consumed_must_fit(pools: Pools) -> Iterator[Flaw]:
    """No device consumes more of a counter than there is."""
    for members in pools.values():
        known = _counters(members)
        for item, path, device, entry, counter, value in _consumptions(members):
            there = known.get(str(entry.get("counterSet", "")), {}).get(counter)
            used = _quantity(value)
            if there is None or used is None or used <= there:
                continue
            yield Flaw(
                item=item,
                field=path,
                where=f"{entry.get('counterSet')}/{counter} of {device_text(item, device)}",
                got=used.canonical,
                want=f"at most {there.canonical}, or the device can never be allocated",
            )


def counter_slices_must_count(pools: Pools) -> Iterator[Flaw]:
    """``resourceSliceCount`` includes the slices that hold counter sets."""
    for (driver, pool), members in sorted(pools.items()):
        holders = [item for item in members if (item.get("spec") or {}).get("sharedCounters")]
        rest = len(members) - len(holders)
        for item in members if holders and rest else ():
            count = ((item.get("spec") or {}).get("pool") or {}).get("resourceSliceCount")
            if count == rest:
                yield Flaw(
                    item=item,
                    field="spec.pool.resourceSliceCount",
                    where=f"pool {pool!r} of {driver}",
                    got=f"{count}, without its {len(holders)} slices of counter sets",
                    want=f"{len(members)}, all slices of the pool",
                )
                break


def overlaps_must_exclude(pools: Pools, *, attribute: str) -> Iterator[Flaw]:
    """A device and a part of it cannot both be allocated; devices that share nothing can.

    Args:
        pools: newest generation by driver and pool.
        attribute: holds the name of the device that a device is a part of.
    """
    for members in pools.values():
        known = _counters(members)
        found = {
            str(device.get("name", "")): (item, path, device)
            for item, path, device in devices_of(members)
            if _fit(device, {}, known)
        }
        above = {name: _ancestors(name, found, attribute) for name in found}
        marked = {name for name in found if _parent(found[name], attribute)}
        marked.update(parent for parents in above.values() for parent in parents)
        pairs = itertools.islice(itertools.combinations(found, 2), PAIRS_MAX)
        for first, second in pairs:
            overlap = first in above[second] or second in above[first]
            part = first if second in above[first] else second
            other = second if part == first else first
            item, path, device = found[part]
            together = _fit(device, found[other][2], known)
            where = f"{device_text(item, device)} beside {other!r}"
            if overlap and together:
                got = (
                    f"both can be allocated, though {attribute} says that one is part of the other"
                )
                want = "counters that both consume, and that do not suffice for both"
            elif not (overlap or together) and _are_apart(first, second, above, marked):
                got = f"only one can be allocated, though {attribute} shows no common device"
                want = "counters that suffice for both"
            else:
                continue
            yield Flaw(item=item, field=f"{path}.consumesCounters", where=where, got=got, want=want)


def _parent(place: tuple[Json, str, Json], attribute: str) -> str:
    """The device that a device says it is a part of; "" if it says nothing."""
    item, _, device = place
    driver = driver_of(item)
    wanted = full_name(attribute, driver)
    for name, value in (device.get("attributes") or {}).items():
        if full_name(name, driver) == wanted:
            return str(value.get("string") or "")
    return ""


def _ancestors(name: str, found: Mapping[str, tuple[Json, str, Json]], attribute: str) -> list[str]:
    """The devices that a device is a part of, nearest first."""
    above: list[str] = []
    while True:
        parent = _parent(found[name], attribute)
        if parent not in found or parent in (name, *above):
            return above
        above.append(parent)
        name = parent


def _are_apart(
    first: str, second: str, above: Mapping[str, list[str]], marked: Collection[str]
) -> bool:
    """True for two devices that say what they are a part of, which is not the same."""
    roots = {above[name][-1] if above[name] else name for name in (first, second)}
    return len(roots) > 1 and first in marked and second in marked


def _fit(one: Json, other: Json, known: Mapping[str, Mapping[str, Quantity]]) -> bool:
    """True if counters and compatibility groups let both devices be allocated.

    What consumes counters that there are not cannot be.
    """
    by_set: dict[str, list[Json]] = {}
    for device in (one, other):
        for entry in device.get("consumesCounters") or []:
            by_set.setdefault(str(entry.get("counterSet", "")), []).append(entry)
    for name, entries in by_set.items():
        groups = [set(entry.get("compatibilityGroups") or []) for entry in entries]
        if any(groups) and not set.intersection(*groups):
            return False
        there = known.get(name, {})
        if any(
            counter not in there for entry in entries for counter in entry.get("counters") or {}
        ):
            return False
        for counter, most in there.items():
            used = [_quantity((entry.get("counters") or {}).get(counter)) for entry in entries]
            if sum(amount.nanos for amount in used if amount is not None) > most.nanos:
                return False
    return True


def _counters(members: Sequence[Json]) -> dict[str, dict[str, Quantity]]:
    found: dict[str, dict[str, Quantity]] = {}
    for item in members:
        for entry in (item.get("spec") or {}).get("sharedCounters") or []:
            values = found.setdefault(str(entry.get("name", "")), {})
            for name, value in (entry.get("counters") or {}).items():
                values[name] = _quantity(value) or Quantity.of_int(0)
    return found


def _consumptions(
    members: Sequence[Json],
) -> Iterator[tuple[Json, str, Json, Json, str, object]]:
    for item, path, device in devices_of(members):
        for index, entry in enumerate(device.get("consumesCounters") or []):
            for name, value in (entry.get("counters") or {}).items():
                where = f"{path}.consumesCounters[{index}].counters[{name}]"
                yield item, where, device, entry, name, value


def _quantity(value: object) -> Quantity | None:
    text = value.get("value") if isinstance(value, dict) else None
    try:
        return Quantity.parse(text) if isinstance(text, (str, int)) else None
    except QuantityError:
        return None

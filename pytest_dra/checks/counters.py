"""Shared counters of partitionable devices: what refers to what in a pool."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.api.quantity import Quantity
from pytest_dra.api.quantity import QuantityError
from pytest_dra.checks.flaws import Flaw
from pytest_dra.checks.flaws import device_text
from pytest_dra.checks.flaws import devices_of
from pytest_dra.spec import Json

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

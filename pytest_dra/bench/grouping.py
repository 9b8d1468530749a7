"""Devices that exclude each other by compatibility groups, and writes that have such groups."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.devices import Device
from pytest_dra.bench.publishing import slices_of
from pytest_dra.bench.sharing import RETURNS
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

GATE: Final = "DRADeviceCompatibilityGroups"
FIELD: Final = "compatibilityGroups"

_PAIR: Final = 2


def incompatible_devices(bench: Bench) -> tuple[Device, Device]:
    """Two devices of one counter set that fit together, but have no group in common.

    Raises:
        UnsupportedEnvironment: none are published, though the profile declares groups.
    """
    found = bench.look_for(lambda: next(_pairs(bench.instance.devices(), bench), None))
    if found is None:
        raise UnsupportedEnvironment(
            f"needs two devices of one counter set whose {FIELD} are disjoint",
            way_out="let the driver publish such, or take CompatibilityGroups out of the profile",
        )
    return found


def _pairs(devices: Iterable[Device], bench: Bench) -> Iterator[tuple[Device, Device]]:
    sets = _counter_sets(bench)
    grouped = [each for each in devices if has_groups(each.spec)]
    for one, other in itertools.combinations(grouped, _PAIR):
        if one.pool == other.pool and any(
            _excluded(mine, its) and _fit(sets.get((one.pool, mine["counterSet"]), {}), mine, its)
            for mine in one.spec["consumesCounters"]
            for its in other.spec["consumesCounters"]
        ):
            yield one, other


def _excluded(one: Json, other: Json) -> bool:
    groups = [set(each.get(FIELD) or ()) for each in (one, other)]
    return one["counterSet"] == other["counterSet"] and all(groups) and not groups[0] & groups[1]


def _fit(counters: Json, *consumed: Json) -> bool:
    """True if a counter set has enough for both."""
    return all(
        sum(Quantity.parse(str(each["counters"][name]["value"])).nanos for each in using)
        <= Quantity.parse(str(value["value"])).nanos
        for name, value in counters.items()
        if (using := [each for each in consumed if name in each["counters"]])
    )


def _counter_sets(bench: Bench) -> dict[tuple[str, str], Json]:
    return {
        (item["spec"]["pool"]["name"], each["name"]): each["counters"]
        for item in bench.instance.slices()
        for each in item["spec"].get("sharedCounters") or ()
    }


def has_groups(device: Json) -> bool:
    """True if a device of a slice has compatibility groups."""
    return any(each.get(FIELD) for each in device.get("consumesCounters") or ())


def slice_has_groups(body: Json) -> bool:
    """True if a slice has a device with compatibility groups."""
    return any(map(has_groups, (body.get("spec") or {}).get("devices") or ()))


def pools_with_groups(bench: Bench) -> frozenset[str]:
    """Names of the pools for which the driver has sent groups."""
    sent = bench.instance.slices_as_sent()
    return frozenset(_pool(body) for body in sent if slice_has_groups(body))


def sent_again(bench: Bench, pools: Collection[str], *, within_s: float) -> list[Json]:
    """Delete the slices with devices of some pools, as others may; what the driver sends for them.

    Raises:
        Blocked: it sends nothing in time.
    """
    instance, since = bench.instance, len(bench.timeline)

    def sent() -> list[Json]:
        bodies = slices_of(instance.slice_writes(since=since))
        return [each for each in bodies if _pool(each) in pools and each["spec"].get("devices")]

    with bench.timeline.disturbance("slices deleted"):
        for item in instance.slices():
            if _pool(item) in pools and item["spec"].get("devices"):
                bench.cluster.admin().delete(RESOURCE_SLICES, item["metadata"]["name"])
        until(bench.timeline, lambda: sent() or instance.over, Deadline.after(within_s))
    found = sent()
    if not found:
        raise Blocked(RETURNS)
    return found


def _pool(body: Json) -> str:
    return str(((body.get("spec") or {}).get("pool") or {}).get("name"))

"""Pools of slices: whose they are, and what a reader sees of them over time."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.spec import Json
from pytest_dra.spec import Violation

Key = tuple[str, str]
"""Driver and pool name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The slices of a driver right after one write, and the write's serial number."""

    serial: int
    slices: tuple[Json, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """What a reader of complete pools sees of one: devices by name, as text, and their slices."""

    devices: Mapping[str, str]
    slices: int


WHEN_ADDED = "timeAdded"
"""Set by the API server in taints: another one after each creation."""


def text_of(device: Json) -> str:
    """What a device says, without what the API server has added."""
    taints = [
        {key: value for key, value in taint.items() if key != WHEN_ADDED}
        for taint in device.get("taints") or []
    ]
    return json.dumps({**device, "taints": taints}, sort_keys=True)


def generation_of(item: Json) -> int:
    """The pool generation that a slice states; 0 where it states none."""
    value = _pool(item).get("generation")
    return value if isinstance(value, int) else 0


def by_pool(slices: Iterable[Json]) -> dict[Key, list[Json]]:
    """Slices of all generations by driver and pool."""
    pools: dict[Key, list[Json]] = {}
    for item in slices:
        driver = str((item.get("spec") or {}).get("driver", ""))
        pools.setdefault((driver, str(_pool(item).get("name", ""))), []).append(item)
    return pools


def pool_names_must_differ(first: Iterable[Json], second: Iterable[Json]) -> None:
    """The node-local slices of two nodes have no pool name in common.

    Args:
        first: slices of the driver's instance on one node.
        second: of the one on another node.
    """
    there: dict[str, str] = {}
    for item in first:
        if (item.get("spec") or {}).get("nodeName"):
            there[str(_pool(item).get("name", ""))] = item["spec"]["nodeName"]
    for item in second:
        node, name = (item.get("spec") or {}).get("nodeName"), str(_pool(item).get("name", ""))
        if node and name in there and there[name] != node:
            raise Violation(
                f"pool {name!r}",
                got=f"node-local slices of the nodes {there[name]} and {node}",
                want="a pool name of its own for each node",
            )


def leftovers_must_be_gone(slices: Iterable[Json], *, after: str, within_s: float) -> None:
    """Each pool has slices of one generation, and as many as they state."""
    for (_, pool), members in sorted(by_pool(slices).items()):
        generations = sorted({generation_of(item) for item in members})
        count = {_pool(item).get("resourceSliceCount") for item in members}
        if len(generations) > 1 or count != {len(members)}:
            raise Violation(
                f"pool {pool!r} after {after}",
                got=f"{len(members)} slices of the generations {generations} that state "
                f"resourceSliceCount {sorted(count, key=str)}",
                want=f"slices of one generation, as many as they state, within {within_s:g} s",
            )


def are_tidy(slices: Sequence[Json]) -> bool:
    """True if :func:`leftovers_must_be_gone` would say nothing."""
    try:
        leftovers_must_be_gone(slices, after="", within_s=0.0)
    except Violation:
        return False
    return True


def of_node(slices: Iterable[Json], node: str) -> list[Json]:
    """The slices of one node; all where there are none: a pool without node has other writers."""
    every = list(slices)
    return [item for item in every if (item.get("spec") or {}).get("nodeName") == node] or every


def newest(slices: Iterable[Json]) -> list[Json]:
    """The slices of the highest generation of each pool."""
    found = []
    for members in by_pool(slices).values():
        highest = max(map(generation_of, members))
        found += [item for item in members if generation_of(item) == highest]
    return found


def are_whole(slices: Iterable[Json]) -> bool:
    """True if the newest generation of each pool is complete."""
    return all(view_of(members) is not None for members in by_pool(slices).values())


def view_of(slices: Iterable[Json]) -> View | None:
    """The newest generation of a pool if it is complete, as the scheduler takes it."""
    members = list(slices)
    if not members:
        return None
    members = newest(members)
    if {_pool(item).get("resourceSliceCount") for item in members} != {len(members)}:
        return None
    devices: dict[str, str] = {}
    for item in members:
        for device in (item.get("spec") or {}).get("devices") or []:
            name = str(device.get("name", ""))
            text = text_of(device)
            devices[name] = f"twice: {text}" if name in devices else text
    return View(devices, len(members))


def views_must_be_whole(
    moments: Sequence[Moment], *, old: Iterable[Json], new: Iterable[Json], during: str
) -> None:
    """Every complete view of a pool is the inventory before or after a change.

    A pool of one slice is always whole, since one write made it.

    Args:
        moments: the driver's slices after each write of the change, in order.
        old: its slices before the change.
        new: its slices afterwards.
        during: names the change.
    """
    before, after = by_pool(old), by_pool(new)
    for moment in moments:
        for key, members in by_pool(moment.slices).items():
            view = view_of(members)
            if view is None or (view.slices == 1 and len(members) == 1):
                continue
            legal = [view_of(found.get(key, ())) for found in (before, after)]
            if any(found is not None and found.devices == view.devices for found in legal):
                continue
            raise Violation(
                f"pool {key[1]!r} during {during}",
                got=_difference(view, legal),
                want="a complete pool with the devices before or after the change, nothing between",
                proof=(moment.serial,),
            )


def _difference(view: View, legal: Sequence[View | None]) -> str:
    wanted = next((found for found in reversed(legal) if found is not None), None)
    text = f"a complete pool of {view.slices} slices with {len(view.devices)} devices"
    if wanted is None:
        return text
    names = sorted(
        name
        for name in {*view.devices, *wanted.devices}
        if view.devices.get(name) != wanted.devices.get(name)
    )
    return f"{text}, other than afterwards: {', '.join(names[:3])}"


def generations_must_rise(
    *, old: Iterable[Json], new: Iterable[Json], during: str, proof: tuple[int, ...] = ()
) -> None:
    """A change of the devices of several slices of a pool ends with a higher generation."""
    before, after = by_pool(old), by_pool(new)
    for key in sorted(before.keys() & after.keys()):
        was = {_name(item): _devices(item) for item in before[key]}
        now = {_name(item): _devices(item) for item in after[key]}
        changed = [name for name in {**was, **now} if was.get(name) != now.get(name)]
        highest = max(map(generation_of, before[key]))
        reached = max(map(generation_of, after[key]))
        if len(changed) > 1 and reached <= highest:
            raise Violation(
                f"pool {key[1]!r} after {during}",
                got=f"{len(changed)} slices changed, generation {highest} before and "
                f"{reached} after it",
                want=f"a generation above {highest}",
                proof=proof,
            )


def generation_must_not_fall(
    before: Iterable[Json], written: Json, *, proof: tuple[int, ...] = ()
) -> None:
    """A slice is written with at least the highest generation that its pool has."""
    key = next(iter(by_pool([written])))
    there = by_pool(before).get(key, [])
    others = [item for item in there if _name(item) != _name(written)]
    highest = max(map(generation_of, there), default=0)
    if (others or there) and generation_of(written) < highest:
        raise Violation(
            f"ResourceSlice {_name(written)} of pool {key[1]!r}",
            got=f"written with generation {generation_of(written)}",
            want=f"at least {highest}, the generation of slices that are still there",
            proof=proof,
        )


def writers_must_be_one(writers: Mapping[str, Iterable[str]]) -> None:
    """Each pool without a node is written by one identity.

    Args:
        writers: identities by pool, whose name may come with the driver's.
    """
    for pool, identities in sorted(writers.items()):
        found = sorted(set(identities))
        if len(found) > 1:
            raise Violation(
                f"pool {pool!r}, which is of no node",
                got=f"written by {', '.join(found)}",
                want="one writer",
            )


def foreign_must_be_left(
    items: Iterable[Json],
    *,
    driver: str,
    node: str,
    others: Collection[str],
    verb: str,
    proof: tuple[int, ...],
) -> None:
    """What a node's instance writes or deletes is of this driver and of no other node.

    Args:
        items: the slices that a request changed, as they were before it.
        driver: the driver's name.
        node: of the instance that sent the request.
        others: the other nodes that there are.
        verb: of the request.
        proof: the request.
    """
    for item in items:
        spec = item.get("spec") or {}
        if spec.get("driver") != driver or spec.get("nodeName") in others:
            raise Violation(
                f"{verb} by the driver's instance on node {node}",
                got=f"ResourceSlice {_name(item)} of driver {spec.get('driver')} on node "
                f"{spec.get('nodeName')}",
                want="slices of other drivers and other nodes left alone",
                proof=proof,
            )


def _pool(item: Json) -> Json:
    found = (item.get("spec") or {}).get("pool")
    return found if isinstance(found, dict) else {}


def _name(item: Json) -> str:
    return str((item.get("metadata") or {}).get("name", ""))


def _devices(item: Json) -> str:
    return "\n".join(map(text_of, (item.get("spec") or {}).get("devices") or []))

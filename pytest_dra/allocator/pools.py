"""Pools as one node sees them: generations, completeness, validity, order."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from pytest_dra.allocator import nodes
from pytest_dra.allocator.layouts import Layout
from pytest_dra.allocator.rules import Rules

PoolKey = tuple[str, str]
"""Driver and name of a pool."""


class Slice:
    """What matters of a ResourceSlice."""

    __slots__ = (
        "count", "generation", "key", "layout", "name", "per_device", "place", "sequence", "skips",
        "spec_sets",
    )  # fmt: skip

    def __init__(self, sequence: int, source: Mapping[str, Any], layout: Layout) -> None:
        spec = source.get("spec") or {}
        pool = spec.get("pool") or {}
        self.sequence = sequence
        self.name: str = (source.get("metadata") or {}).get("name") or ""
        self.key: PoolKey = (spec.get("driver") or "", pool.get("name") or "")
        self.generation: int = pool.get("generation") or 0
        self.count: int = pool.get("resourceSliceCount") or 0
        self.layout = layout
        self.per_device: bool | None = spec.get("perDeviceNodeSelection")
        self.place = {
            name: spec[name] for name in ("nodeName", "allNodes", "nodeSelector") if name in spec
        }
        self.skips: Sequence[Any] = spec.get("skipNodeOperations") or ()
        self.spec_sets: Sequence[Mapping[str, Any]] = spec.get("sharedCounters") or ()

    @property
    def node_name(self) -> str:
        """The node that the slice belongs to, "" if it is not bound to one."""
        return self.place.get("nodeName") or ""

    def reaches(self, node: Mapping[str, Any]) -> bool:
        """True if any device of the slice may be used on the node.

        Raises:
            SelectorError: a node selector that does not parse.
        """
        place = self.place
        if place.get("nodeName") or place.get("allNodes") or place.get("nodeSelector") is not None:
            return nodes.matches(node, place)
        if self.per_device:
            return any(nodes.matches(node, device) for device in self.layout.devices)
        return False


class Pool:
    """A pool for one node. ``fault`` says why its devices cannot be used, "" if they can.

    ``others`` are its slices for other nodes, ``sets`` its counter sets, in the API's form.
    """

    __slots__ = ("fault", "incomplete", "key", "others", "sets", "slices")

    def __init__(self, key: PoolKey) -> None:
        self.key = key
        self.fault = ""
        self.incomplete = False
        self.slices: list[Slice] = []
        self.others: list[Slice] = []
        self.sets: dict[str, Mapping[str, Any]] = {}

    @property
    def invalid(self) -> bool:
        """True if what the driver has published contradicts itself."""
        return bool(self.fault) and not self.incomplete


class Part:
    """A slice in the order of candidates: its first device has the place ``offset``."""

    __slots__ = ("layout", "offset", "pool", "slice")

    def __init__(self, pool: Pool, one: Slice, offset: int) -> None:
        self.pool = pool
        self.slice = one
        self.layout = one.layout
        self.offset = offset


class View:
    """Everything that a node can choose from, in the order in which it is tried.

    ``elsewhere`` are devices that say themselves that they are for other nodes, ``skipping``
    those of slices that ask for optional node operations, ``broken`` those whose own node
    selector does not parse. ``poison`` are places without a device where the attempt is aborted.
    """

    __slots__ = (
        "broken", "consumers", "elsewhere", "fault", "invalid", "offsets", "parts", "poison",
        "pools", "shareable", "signature", "size", "skipping",
    )  # fmt: skip

    def __init__(
        self, pools: list[Pool], node: Mapping[str, Any], *, fault: str = "",
        per_slice: bool = False,
    ) -> None:  # fmt: skip
        self.pools = pools
        self.fault = fault
        self.invalid = any(pool.invalid for pool in pools)
        self.parts: list[Part] = []
        self.size = self.elsewhere = self.skipping = self.consumers = self.shareable = 0
        self.broken = self.poison = 0
        for pool in pools:
            for one in () if pool.fault else pool.slices:
                self._append(_counting_alone(one) if per_slice else pool, one, node)
            if per_slice and pool.fault:
                self.poison |= 1 << self.size
                self.size += 1
        self.offsets = [part.offset for part in self.parts]
        self.signature = tuple(part.layout.id for part in self.parts)

    def _append(self, pool: Pool, one: Slice, node: Mapping[str, Any]) -> None:
        layout, offset = one.layout, self.size
        if not layout.size:
            return
        self.parts.append(Part(pool, one, offset))
        self.size += layout.size
        self.consumers |= layout.consumers << offset
        self.shareable |= layout.shareable << offset
        if one.skips:
            self.skipping |= layout.full << offset
        if one.per_device:
            self._ask_devices(one, offset, node)

    def _ask_devices(self, one: Slice, offset: int, node: Mapping[str, Any]) -> None:
        for place, device in enumerate(one.layout.devices):
            try:
                if not nodes.matches(node, device):
                    self.elsewhere |= 1 << (offset + place)
            except nodes.SelectorError:
                self.broken |= 1 << (offset + place)

    def part(self, place: int) -> Part:
        """The part with the device at a place."""
        return self.parts[bisect.bisect_right(self.offsets, place) - 1]


def gather(
    near: Iterable[Slice], every: Mapping[PoolKey, Sequence[Slice]],
    node: Mapping[str, Any], rules: Rules,
) -> list[Pool]:  # fmt: skip
    """Pools for a node, in order, from the slices that may reach it.

    Raises:
        SelectorError: a node selector that does not parse.
    """
    found: dict[PoolKey, list[Slice]] = {}
    if not rules.sorts and not rules.basic:
        # Slices with binding conditions come last, within a pool, too.
        near = sorted(near, key=lambda one: one.layout.conditions_set and not one.spec_sets)
    for one in near:
        if _ignored(one, rules):
            continue
        always = rules.keeps_counters and one.spec_sets
        if not always and not one.reaches(node):
            continue
        kept = found.get(one.key)
        if kept is None or one.generation > kept[0].generation:
            found[one.key] = [one]
        elif one.generation == kept[0].generation:
            kept.append(one)
    made = [_pool(key, kept, every[key], rules) for key, kept in found.items()]
    return in_order([pool for pool in made if pool is not None], rules)


def in_order(pools: list[Pool], rules: Rules) -> list[Pool]:
    """Pools by their names, those with binding conditions behind all others."""
    behind = not rules.basic
    return sorted(pools, key=lambda pool: (behind and _conditional(pool), pool.key))


def _conditional(pool: Pool) -> bool:
    return any(one.layout.conditions_set for one in pool.slices)


def _ignored(one: Slice, rules: Rules) -> bool:
    """True for slices with what the gates do not know."""
    counts = one.spec_sets and not rules.per_slice
    if not rules.partitionable and (one.per_device is not None or counts):
        return True
    return _too_new(one, rules)


def _too_new(one: Slice, rules: Rules) -> bool:
    """True for slices with groups that this scheduler cannot respect."""
    return rules.knows_groups and not rules.groups and one.layout.grouped


def _pool(key: PoolKey, kept: list[Slice], every: Sequence[Slice], rules: Rules) -> Pool | None:
    """A pool of slices that reach the node; None if they are out of date."""
    if rules.per_slice:
        return _by_slices(key, kept)
    if len(kept) == kept[0].count:
        return _built(key, kept, (), rules)
    generation = kept[0].generation
    if any(one.generation > generation for one in every):
        return None
    same = [one for one in every if one.generation == generation]
    same = [one for one in same if not _too_new(one, rules)]
    if len(same) != kept[0].count:
        pool = Pool(key)
        pool.incomplete = True
        pool.fault = f"incomplete: {len(same)} of {kept[0].count} slices of generation {generation}"
        return pool
    return _built(key, kept, same, rules)


def _by_slices(key: PoolKey, kept: list[Slice]) -> Pool:
    """A pool that counts for itself, as up to 1.34."""
    pool = Pool(key)
    pool.slices = kept
    pool.incomplete = len(kept) != kept[0].count
    pool.fault = _twice(kept)
    if pool.fault:
        pool.slices, pool.incomplete = [], False
    return pool


def _counting_alone(one: Slice) -> Pool:
    """A slice as a pool of its own, for its counters."""
    pool = Pool(("", one.name))
    pool.slices = [one]
    pool.sets = {each.get("name") or "": each.get("counters") or {} for each in one.spec_sets}
    return pool


def _built(key: PoolKey, kept: list[Slice], same: Sequence[Slice], rules: Rules) -> Pool:
    pool = Pool(key)
    slices = sorted(kept, key=lambda one: one.name) if rules.sorts else kept
    counting: list[Slice] = []
    for one in slices:
        is_counting = rules.partitionable and one.spec_sets
        (counting if is_counting else pool.slices).append(one)
    if len(kept) < len(same):
        names = {one.name for one in kept}
        for one in same:
            if one.name not in names:
                is_counting = rules.partitionable and one.spec_sets
                (counting if is_counting else pool.others).append(one)
    pool.fault = _twice(pool.slices)
    if not pool.fault and rules.partitionable:
        pool.fault = _sets(pool, counting) or _dangling(pool)
    if pool.fault:
        pool.slices, pool.others = [], []
    return pool


def _twice(slices: Sequence[Slice]) -> str:
    seen: set[str] = set()
    for one in slices:
        if one.layout.duplicate is not None:
            return f"invalid: device {one.layout.duplicate} twice"
        if len(slices) > 1:
            both = seen.intersection(one.layout.bits)
            if both:
                return f"invalid: device {min(both)} twice"
            seen.update(one.layout.bits)
    return ""


def _sets(pool: Pool, counting: Sequence[Slice]) -> str:
    for one in counting:
        for counter_set in one.spec_sets:
            name = counter_set.get("name") or ""
            if name in pool.sets:
                return f"invalid: counter set {name} twice"
            pool.sets[name] = counter_set.get("counters") or {}
    return ""


def _dangling(pool: Pool) -> str:
    for one in (*pool.slices, *pool.others):
        if not one.layout.consumers:
            continue
        for device in one.layout.devices:
            for consumed in device.get("consumesCounters") or ():
                name = consumed.get("counterSet") or ""
                if name not in pool.sets:
                    return f"invalid: no counter set {name}, which {device.get('name')} consumes"
                for counter in consumed.get("counters") or ():
                    if counter not in pool.sets[name]:
                        return f"invalid: no counter {counter} in counter set {name}"
    return ""

"""All slices of a cluster, read once, and what each node sees of them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.allocator.layouts import Layouts
from pytest_dra.allocator.pools import PoolKey
from pytest_dra.allocator.pools import Slice
from pytest_dra.allocator.pools import View
from pytest_dra.allocator.pools import gather
from pytest_dra.allocator.rules import Rules
from pytest_dra.allocator.selectors import Chains

_VIEWS_MAX: Final = 100_000
"""Views that are remembered: nodes, and for each of them its different labels."""


class Index:
    """Slices under the rules of one scheduler. It does not change; make a new one for new slices.

    ``slices`` are objects in the API's form (v1), with the taints of rules merged already.
    """

    def __init__(self, slices: Sequence[Mapping[str, Any]], rules: Rules) -> None:
        self.rules = rules
        self.chains = Chains(rules)
        self.by_pool: dict[PoolKey, list[Slice]] = {}
        self._layouts = Layouts(rules)
        self._near: dict[str, list[Slice]] = {}
        self._shared: list[Slice] = []
        self._views: dict[object, View] = {}
        for sequence, source in enumerate(slices):
            self._add(sequence, source)
        self._by_labels = any(_looks_at_labels(one) for one in self._shared)
        self.generations_differ = frozenset(
            key for key, found in self.by_pool.items() if _changes(found)
        )
        self._counting = [
            one
            for found in self.by_pool.values()
            for one in found
            if one.spec_sets and rules.keeps_counters
        ]
        if not self._shared and not self._counting and rules.sorts:
            for name in self._near:
                self._views[name] = self._made({"metadata": {"name": name}})

    def _add(self, sequence: int, source: Mapping[str, Any]) -> None:
        spec = source.get("spec") or {}
        layout = self._layouts.find(spec.get("driver") or "", spec.get("devices") or ())
        one = Slice(sequence, source, layout)
        self.by_pool.setdefault(one.key, []).append(one)
        if one.node_name:
            self._near.setdefault(one.node_name, []).append(one)
        else:
            self._shared.append(one)

    def view(self, node: Mapping[str, Any]) -> View:
        """What a node sees."""
        key: object = (node.get("metadata") or {}).get("name") or ""
        if self._by_labels:
            key = (key, frozenset(nodes.labels_of(node).items()))
        view = self._views.get(key)
        if view is None:
            if len(self._views) >= _VIEWS_MAX:
                self._views.clear()
            view = self._views[key] = self._made(node)
        return view

    def _made(self, node: Mapping[str, Any]) -> View:
        own = self._near.get(nodes.name_of(node), [])
        near = [*own, *self._shared]
        if self._counting:
            seen = {id(one) for one in self._counting}
            own = [one for one in own if id(one) not in seen]
            rest = [one for one in self._shared if id(one) not in seen]
            near = [*own, *_in_sequence([*rest, *self._counting])]
        if not self.rules.sorts:
            near = _in_sequence(near)
        try:
            pools = gather(near, self.by_pool, node, self.rules)
            return View(pools, node, per_slice=self.rules.per_slice)
        except nodes.SelectorError as error:
            return View([], node, fault=str(error))


def _looks_at_labels(one: Slice) -> bool:
    if "nodeSelector" in one.place:
        return True
    return bool(one.per_device) and any("nodeSelector" in each for each in one.layout.devices)


def _in_sequence(slices: list[Slice]) -> list[Slice]:
    return sorted(slices, key=lambda one: one.sequence)


def _changes(found: Sequence[Slice]) -> bool:
    """True if there are several generations of a pool with counters."""
    if len({one.generation for one in found}) < 2:
        return False
    return any(one.spec_sets or one.layout.consumers for one in found)

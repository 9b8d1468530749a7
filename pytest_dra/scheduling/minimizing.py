"""The smallest objects for which the verdict stays the same, for reports of bugs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Final

Json = dict[str, Any]
_CORE: Final = ("Pod", "Node")
_CONTAINER: Final = frozenset(("name", "image", "resources"))
"""Fields of a container that stay."""

Judge = Callable[[list[Json]], object]
"""The verdict for objects; anything that can be compared."""

TRIALS_MAX: Final = 5_000
"""Verdicts that are asked for."""

_LISTS: Final = (
    ("spec", "devices"),
    ("spec", "sharedCounters"),
    ("spec", "selectors"),
    ("spec", "config"),
    ("spec", "devices", "requests"),
    ("spec", "devices", "constraints"),
    ("spec", "devices", "config"),
    ("spec", "spec", "devices", "requests"),
    ("spec", "spec", "devices", "constraints"),
    ("spec", "spec", "devices", "config"),
    ("status", "allocation", "devices", "results"),
    ("spec", "resourceClaims"),
    ("spec", "taints"),
)
"""Lists of objects of which entries may be superfluous."""

_IN_DEVICE: Final = ("attributes", "capacity", "taints", "consumesCounters")
_IN_REQUEST: Final = ("selectors", "tolerations", "capacity")
_NOISE: Final = (
    "managedFields", "annotations", "generation", "selfLink", "finalizers", "ownerReferences",
    "labels", "uid", "resourceVersion", "creationTimestamp",
)  # fmt: skip


class Minimizer:
    """Leaves parts of objects out for as long as the verdict stays."""

    def __init__(self, judge: Judge, valid: Callable[[Json], bool] = lambda _: True) -> None:
        """``valid`` says of an object that was shortened whether it can still be read."""
        self._judge = judge
        self._valid = valid
        self._current: int | None = None
        self._left = TRIALS_MAX
        self._want: object = None

    def minimized(self, objects: Sequence[Json]) -> list[Json]:
        """The objects that are needed, without what is not needed of them."""
        kept = copy.deepcopy(list(objects))
        self._want = self._judge(copy.deepcopy(kept))
        kept = self._fewer(kept, lambda some: some)
        for number in range(len(kept)):
            self._current = number
            self._thin(kept, number)
        return kept

    def _same(self, objects: list[Json]) -> bool:
        if self._left <= 0:
            return False
        self._left -= 1
        if self._current is not None and not self._valid(objects[self._current]):
            return False
        return self._judge(copy.deepcopy(objects)) == self._want

    def _fewer(self, items: list[Any], whole: Callable[[list[Any]], list[Json]]) -> list[Any]:
        """The entries of a list that are needed: halves go first, then single ones."""
        size = max(len(items) // 2, 1)
        while items:
            start = 0
            while start < len(items):
                without = items[:start] + items[start + size :]
                if self._same(whole(without)):
                    items = without
                else:
                    start += size
            if size == 1:
                break
            size = max(size // 2, 1)
        return items

    def _thin(self, objects: list[Json], number: int) -> None:
        """Shorten lists of one object, and drop what nobody looks at."""
        item = objects[number]
        self._drop(objects, item.get("metadata") or {}, _NOISE)
        if item.get("kind") in _CORE:
            self._drop(objects, item, ("status",))
            for name in ("spec", "status"):
                part = item.get(name) or {}
                self._drop(objects, part, tuple(one for one in part if one != "containers"))
            for container in (item.get("spec") or {}).get("containers") or ():
                self._drop(objects, container, tuple(set(container) - _CONTAINER))
        for path in _LISTS:
            holder, name = _holder(objects[number], path)
            if holder is None or not isinstance(holder.get(name), list):
                continue

            def whole(some: list[Any], holder: Json = holder, name: str = name) -> list[Json]:
                holder[name] = some
                return objects

            holder[name] = self._fewer(list(holder[name]), whole)
            if not holder[name]:
                self._drop(objects, holder, (name,))
        for part in _parts(objects[number]):
            self._drop(objects, part, (*_IN_DEVICE, *_IN_REQUEST))
            for name in ("attributes", "capacity"):
                if isinstance(part.get(name), dict):
                    self._drop(objects, part[name], tuple(part[name]))

    def _drop(self, objects: list[Json], holder: Json, names: Sequence[str]) -> None:
        for name in names:
            if name not in holder:
                continue
            value = holder.pop(name)
            if not self._same(objects):
                holder[name] = value


def _holder(item: Json, path: tuple[str, ...]) -> tuple[Json | None, str]:
    value: Any = item
    for name in path[:-1]:
        value = value.get(name) if isinstance(value, dict) else None
    return (value if isinstance(value, dict) else None), path[-1]


def _parts(item: Json) -> Iterator[Json]:
    """Devices and requests of an object."""
    spec = item.get("spec") or {}
    if item.get("kind") == "ResourceSlice":
        yield from (one for one in spec.get("devices") or () if isinstance(one, dict))
        return
    if item.get("kind") == "ResourceClaimTemplate":
        spec = spec.get("spec") or {}
    devices = spec.get("devices")
    for request in (devices.get("requests") or ()) if isinstance(devices, dict) else ():
        for one in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if one is not None:
                yield one

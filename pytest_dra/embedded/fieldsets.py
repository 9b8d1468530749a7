"""Sets of fields: what a configuration names, and where two states of an object differ.

A path is a tuple of elements in the notation of ``managedFields``: ``f:<name>`` for a field or a
key of a map, ``k:<keys as JSON>`` for an item of a list with keys, ``v:<JSON>`` for one of a set.
What is atomic (plain lists, some structs, free JSON) is a leaf; in custom resources the lists are.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.embedded import typetable
from pytest_dra.embedded.typetable import Field
from pytest_dra.spec import Json

Path = tuple[str, ...]
FieldSet = frozenset[Path]

_MISSING: Final = object()
_SELF: Final = "."
"""Marks a node of the encoded form that is a member itself besides what is below it."""

ATOMIC_TYPES: Final = frozenset(
    {
        "core.ConfigMapKeySelector",
        "core.LocalObjectReference",
        "core.NodeSelector",
        "core.NodeSelectorTerm",
        "core.ObjectFieldSelector",
        "core.ObjectReference",
        "core.ResourceFieldSelector",
        "core.SecretKeySelector",
        "core.SecretReference",
        "core.TypedLocalObjectReference",
        "meta.LabelSelector",
        "meta.OwnerReference",
        "rbac.RoleRef",
        "rbac.Subject",
    }
)
"""Structs that are replaced as a whole (structType=atomic in k8s.io/api)."""

EVERYTHING_BUT: Final[FieldSet] = frozenset(
    ("f:metadata", f"f:{name}")
    for name in (
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
    )
)
"""Fields of the metadata that nobody owns."""


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """Paths that are new or have another value, and paths that are gone."""

    changed: FieldSet
    removed: FieldSet


def is_leaf(field: Field) -> bool:
    """True if nobody can own a part of the field."""
    if field.atomic:
        return True
    if field.container == "list":
        return not field.keys and not field.is_set
    return field.container == "" and (field.base != "message" or field.message in ATOMIC_TYPES)


FREE: Final = "free"
"""JSON of custom resources: its objects are not leaves."""


def branches(field: Field, *values: Any) -> bool:
    """True if the field is free JSON, and each value that is there an object."""
    return field.base == FREE and all(
        value is _MISSING or isinstance(value, dict) for value in values
    )


@functools.cache
def item_of(field: Field) -> Field:
    """The field that an item of a list or map is."""
    return dataclasses.replace(field, container="", keys=(), is_set=False)


def element(field: Field, item: Any) -> str:
    """The path element of an item of a list with keys, or of a set."""
    if not field.keys:
        return "v:" + json.dumps(item, separators=(",", ":"))
    found = {key: item[key] for key in sorted(field.keys) if item.get(key) is not None}
    return "k:" + json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def named(kind: str, configuration: Json) -> FieldSet:
    """The fields that an applied configuration of table type ``kind`` sets."""
    out: set[Path] = set()
    _name_fields(typetable.message(kind).by_name, configuration, (), out)
    return frozenset(out)


def _name_fields(
    fields: Mapping[str, Field], value: Mapping[str, Any], at: Path, out: set[Path]
) -> None:
    for name, item in value.items():
        field = fields.get(name)
        if field is None:
            continue
        path = (*at, f"f:{name}")
        if item is None or (isinstance(item, dict) and not item):
            out.add(path)
        else:
            _name_value(field, item, path, out)


def _name_value(field: Field, value: Any, at: Path, out: set[Path]) -> None:
    if branches(field, value) and value:
        for key, item in value.items():
            _name_value(field, item, (*at, f"f:{key}"), out)
    elif is_leaf(field) or value is None:
        out.add(at)
    elif field.container == "list":
        inner = item_of(field)
        for item in value:
            path = (*at, element(field, item))
            out.add(path)
            _name_value(inner, item, path, out)
    elif field.container == "map":
        inner = item_of(field)
        for key, item in value.items():
            path = (*at, f"f:{key}")
            out.add(path)
            _name_value(inner, item, path, out)
    else:
        _name_fields(typetable.message(field.message).by_name, value, at, out)


def difference(kind: str, old: Json, new: Json) -> Difference:
    """What an object of table type ``kind`` has changed from ``old`` to ``new``."""
    walk = _Walk()
    walk.message(typetable.message(kind).by_name, old, new, ())
    return Difference(frozenset(walk.changed), frozenset(walk.removed))


class _Walk:
    def __init__(self) -> None:
        self.changed: set[Path] = set()
        self.removed: set[Path] = set()

    def message(
        self, fields: Mapping[str, Field], old: Mapping[str, Any], new: Mapping[str, Any], at: Path
    ) -> None:
        for name in (*new, *(name for name in old if name not in new)):
            field = fields.get(name)
            if field is None:
                continue
            before, after = old.get(name, _MISSING), new.get(name, _MISSING)
            # most of an object stays as it is, and is often even the same Python object
            if before is not after:
                self.value(field, before, after, (*at, f"f:{name}"))

    def value(self, field: Field, old: Any, new: Any, at: Path) -> None:
        free = branches(field, old, new)
        if (is_leaf(field) and not free) or (_bare(old) and _bare(new)):
            if old is _MISSING:
                self.changed.add(at)
            elif new is _MISSING:
                self.removed.add(at)
            elif old != new:
                self.changed.add(at)
            return
        if free:
            before, after = _dict(old), _dict(new)
            for key in (*after, *(key for key in before if key not in after)):
                one, other = before.get(key, _MISSING), after.get(key, _MISSING)
                self.value(field, one, other, (*at, f"f:{key}"))
        elif field.container:
            self._items(field, old, new, at)
        else:
            fields = typetable.message(field.message).by_name
            self.message(fields, _dict(old), _dict(new), at)
        if old is _MISSING:
            self.changed.add(at)
        elif new is _MISSING:
            self.removed.add(at)

    def _items(self, field: Field, old: Any, new: Any, at: Path) -> None:
        inner = item_of(field)
        before, after = _by_element(field, old), _by_element(field, new)
        for key in (*after, *(key for key in before if key not in after)):
            one, other = before.get(key, _MISSING), after.get(key, _MISSING)
            if one is not other:
                self.value(inner, one, other, (*at, key))


def _bare(value: Any) -> bool:
    return value is _MISSING or not value


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _by_element(field: Field, value: Any) -> dict[str, Any]:
    if value is _MISSING or not value:
        return {}
    if field.container == "map":
        return {f"f:{key}": item for key, item in value.items()}
    return {element(field, item): item for item in value}


def encode(paths: FieldSet) -> Json:
    """A set in the form of ``fieldsV1``."""
    root: Json = {}
    for path in sorted(paths):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node[_SELF] = {}
    return _tidy(root)


def _tidy(node: Json) -> Json:
    if len(node) == 1 and _SELF in node:
        return {}
    return {key: part if key == _SELF else _tidy(part) for key, part in node.items()}


def decode(fields: Any) -> FieldSet:
    """The set that ``fieldsV1`` stands for; what is malformed is left out."""
    out: set[Path] = set()
    _read(fields, (), out)
    return frozenset(out)


_DEPTH_MAX: Final = 64
"""Far deeper than any object of the API."""


def _read(node: Any, at: Path, out: set[Path]) -> None:
    if not isinstance(node, dict) or len(at) > _DEPTH_MAX:
        return
    if at and (not node or _SELF in node):
        out.add(at)
    for key, part in node.items():
        if key != _SELF:
            _read(part, (*at, key), out)


def within(paths: FieldSet, roots: FieldSet) -> FieldSet:
    """Those paths that are at or below one of ``roots``."""
    return frozenset(path for path in paths if _below(path, roots))


def without(paths: FieldSet, roots: FieldSet) -> FieldSet:
    """Those paths that are neither at nor below one of ``roots``."""
    return frozenset(path for path in paths if not _below(path, roots))


def _below(path: Path, roots: FieldSet) -> bool:
    return any(path[:size] in roots for size in range(1, len(path) + 1))


def prune(kind: str, obj: Json, gone: FieldSet, kept: FieldSet) -> Json:
    """The object without the fields of ``gone``, but with all that leads to one of ``kept``."""
    needed = frozenset(path[:size] for path in kept for size in range(1, len(path) + 1))
    dropped = frozenset(path for path in gone if path not in needed)
    if not dropped:
        return obj
    ways = frozenset(path[:size] for path in dropped for size in range(1, len(path)))
    return _pruned(typetable.message(kind).by_name, obj, (), dropped, ways)


def _pruned(
    fields: Mapping[str, Field], value: Json, at: Path, dropped: FieldSet, ways: FieldSet
) -> Json:
    out: Json = {}
    for name, item in value.items():
        path = (*at, f"f:{name}")
        if path in dropped:
            continue
        field = fields.get(name)
        if path in ways and field is not None and item is not None:
            item = _pruned_value(field, item, path, dropped, ways)
        out[name] = item
    return out


def _pruned_value(field: Field, value: Any, at: Path, dropped: FieldSet, ways: FieldSet) -> Any:
    if branches(field, value):
        kept = {key: item for key, item in value.items() if (*at, f"f:{key}") not in dropped}
        return {
            key: _pruned_value(field, item, (*at, f"f:{key}"), dropped, ways)
            for key, item in kept.items()
        }
    if is_leaf(field):
        return value
    if field.container == "":
        fields = typetable.message(field.message).by_name
        return _pruned(fields, value, at, dropped, ways)
    inner = item_of(field)
    left: dict[str, Any] = {}
    for key, item in _by_element(field, value).items():
        path = (*at, key)
        if path in dropped:
            continue
        left[key] = _pruned_value(inner, item, path, dropped, ways) if path in ways else item
    if field.container == "map":
        return {key[2:]: item for key, item in left.items()}
    return list(left.values())


def items(path: Path) -> Iterator[str]:
    """The elements of a path as messages show them: ``.spec``, ``[name="a"]``."""
    for step in path:
        kind, _, text = step.partition(":")
        if kind == "f":
            yield f".{text}"
        elif kind == "k":
            pairs = json.loads(text).items()
            yield "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in pairs) + "]"
        else:
            yield f"[={text}]"

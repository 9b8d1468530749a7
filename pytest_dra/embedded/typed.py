"""Reading an object as its type: strict about types, forgiving about unknown fields.

The result is what a server would return for it: nulls and zero values are gone where they mean
nothing, fields that are always shown are there, quantities and times are canonical. Only empty
lists and maps stay until :func:`prune`, because validation tells ``[]`` from nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.embedded import raw
from pytest_dra.embedded import typetable
from pytest_dra.embedded.scalars import READERS
from pytest_dra.embedded.scalars import ZEROS
from pytest_dra.embedded.scalars import ScalarError
from pytest_dra.embedded.typetable import Field
from pytest_dra.spec import Json

_Path = tuple[Any, ...] | None
"""Where in the object: (parent path, name or index)."""

_Read = Callable[[Any, Any, "Notes"], Any]


@dataclasses.dataclass(slots=True)
class Notes:
    """What was noticed while reading: ``unknown`` fields by path, and whether empties are left.

    ``names`` counts the names of all objects, which betrays those that were written twice.
    """

    unknown: list[str] = dataclasses.field(default_factory=list)
    empties: bool = False
    names: int = 0


class DecodeError(ValueError):
    """The body does not have the shape of its kind."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Plan:
    fields: Mapping[str, tuple[type | None, _Read, object, bool]]
    """Per JSON name: the type that passes as it is, how to read others, the value that is left out
    (if any), and whether it is a collection."""
    fill: tuple[tuple[str, Callable[[], Any]], ...]
    """What is shown even when it was not sent."""
    open: bool
    """True if any other name is free JSON."""
    alone: Mapping[str, tuple[type, Callable[[Any], Any] | None]]
    """The scalars that can be all there is: their type, and what reads them if they need it."""


_PASSING: Final[Mapping[str, type]] = {"string": str, "bool": bool}
"""Scalars that need no conversion if they have this Python type."""


def read(kind: str, value: Any, notes: Notes) -> Json:
    """Read ``value`` as the type ``kind`` of the table, for example ``resource.ResourceSlice``.

    Raises:
        DecodeError: a value has the wrong type.
    """
    return _read_message(_plan(kind), value, None, notes)


def empty(kind: str) -> Json:
    """An object of the type with nothing but the fields that are always shown."""
    return {name: make() for name, make in _plan(kind).fill}


def prune(kind: str, value: Json) -> Json:
    """The object without empty lists and maps, as storage forgets them; a new one if any were."""
    by_name = typetable.message(kind).by_name
    out: Json = {}
    for name, item in value.items():
        field = by_name.get(name)
        if field is None:
            out[name] = item
        elif field.container and not item:
            if field.always:
                out[name] = None
        elif field.base != "message" or item is None:
            out[name] = item
        elif field.container == "list":
            out[name] = [prune(field.message, part) for part in item]
        elif field.container == "map":
            out[name] = {key: prune(field.message, part) for key, part in item.items()}
        else:
            out[name] = prune(field.message, item)
    return out


@functools.cache
def _plan(kind: str) -> _Plan:
    fields: dict[str, tuple[type | None, _Read, object, bool]] = {}
    fill: list[tuple[str, Callable[[], Any]]] = []
    for name, field in typetable.message(kind).by_name.items():
        passing = None if field.container else _PASSING.get(field.base)
        fields[name] = (passing, _reader(field), _left_out(field), bool(field.container))
        make = _always(field)
        if make is not None:
            fill.append((name, make))
    other = typetable.message(kind).by_name.get(typetable.OTHERS)
    alone = {
        name: _ALONE[field.base]
        for name, field in typetable.message(kind).by_name.items()
        if field.base in _ALONE
        and not field.container
        and fields[name][2] is None
        and all(filled == name for filled, _ in fill)
    }
    return _Plan(fields, tuple(fill), open=other is not None, alone=alone)


_ALONE: Final[Mapping[str, tuple[type, Callable[[Any], Any] | None]]] = {
    "string": (str, None),
    "bool": (bool, None),
    "int64": (int, READERS["int64"]),
    "quantity": (str, functools.lru_cache(maxsize=4096)(READERS["quantity"])),
}


def _left_out(field: Field) -> object:
    if field.container or field.pointer or field.always or field.base == "message":
        return None
    return None if field.base == "quantity" else ZEROS[field.base]


def _always(field: Field) -> Callable[[], Any] | None:
    if field.is_struct:
        return None if field.omit_zero else functools.partial(empty, field.message)
    if field.container or field.pointer:
        return _none if field.always else None
    if field.base == "quantity":
        return functools.partial(str, "0")
    if field.base in ("time", "microtime", "raw", "fields"):
        return None if field.omit_zero else _none
    if not field.always:
        return None
    zero = ZEROS[field.base]
    return lambda: zero


def _none() -> None:
    return None


def _reader(field: Field) -> _Read:
    is_message = field.base == "message"
    item = _message_reader(field.message) if is_message else _scalar_reader(field.base)
    if field.container == "list":
        return functools.partial(_read_list, item)
    if field.container == "map":
        if is_message:
            return functools.partial(_read_messages, field.message)
        return functools.partial(_read_map, item)
    return item


def _message_reader(kind: str) -> _Read:
    plan: _Plan | None = None

    def read_message(value: Any, at: _Path, notes: Notes) -> Json:
        nonlocal plan
        if plan is None:
            plan = _plan(kind)
        return _read_message(plan, value, at, notes)

    return read_message


def count_names(value: Any) -> int:
    """How many names all objects of a JSON value have."""
    count, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            count += len(part)
            waiting += part.values()
        elif type(part) is list:
            waiting += part
    return count


def _read_free(value: Any, at: _Path, notes: Notes) -> Any:
    notes.names += count_names(value)
    return value


def _read_raw(value: Any, at: _Path, notes: Notes) -> Any:
    notes.names += count_names(value)
    return raw.spelled(value)


def _scalar_reader(base: str) -> _Read:
    if base == "raw":
        return _read_raw
    if base in ("fields", "free"):
        return _read_free
    convert, zero = READERS[base], ZEROS[base]

    def read_scalar(value: Any, at: _Path, notes: Notes) -> Any:
        if value is None:
            return zero
        try:
            return convert(value)
        except ScalarError as error:
            raise DecodeError(f"{_text(at)}: {error}") from error

    return read_scalar


def _read_message(plan: _Plan, value: Any, at: _Path, notes: Notes) -> Json:
    out: Json = {}
    if value is not None:
        if type(value) is not dict:
            raise DecodeError(f"{_text(at)}: want an object")
        fields = plan.fields
        notes.names += len(value)
        for name, item in value.items():
            entry = fields.get(name)
            if entry is None and plan.open:
                out[name] = _read_free(item, at, notes)
                continue
            if entry is None:
                notes.unknown.append(_text((at, name)))
                notes.names += count_names(item)
                continue
            if item is None:
                continue
            passing, read_item, left_out, collection = entry
            found = item if type(item) is passing else read_item(item, (at, name), notes)
            if left_out is not None and found == left_out:
                continue
            if collection and not found:
                notes.empties = True
            out[name] = found
    for name, make in plan.fill:
        if name not in out:
            out[name] = make()
    return out


def _read_list(item: _Read, value: Any, at: _Path, notes: Notes) -> list[Any]:
    if type(value) is not list:
        raise DecodeError(f"{_text(at)}: want an array")
    return [item(part, (at, index), notes) for index, part in enumerate(value)]


def _read_map(item: _Read, value: Any, at: _Path, notes: Notes) -> Json:
    if type(value) is not dict:
        raise DecodeError(f"{_text(at)}: want an object")
    notes.names += len(value)
    return {key: item(part, (at, key), notes) for key, part in value.items()}


def _read_messages(kind: str, value: Any, at: _Path, notes: Notes) -> Json:
    """A map of messages; those of attributes and capacities, by the hundred, have one scalar."""
    if type(value) is not dict:
        raise DecodeError(f"{_text(at)}: want an object")
    plan = _plan(kind)
    alone, out = plan.alone, {}
    notes.names += len(value)
    for key, part in value.items():
        if type(part) is dict and len(part) == 1:
            ((name, item),) = part.items()
            known = alone.get(name)
            if known is not None and type(item) is known[0]:
                convert = known[1]
                try:
                    out[key] = {name: item if convert is None else convert(item)}
                except ScalarError:
                    # told below, with its place
                    pass
                else:
                    notes.names += 1
                    continue
        out[key] = _read_message(plan, part, (at, key), notes)
    return out


def _text(at: _Path) -> str:
    parts: list[str] = []
    while at is not None:
        at, name = at
        parts.append(f"[{name}]" if isinstance(name, int) else f".{name}")
    return "".join(reversed(parts)).lstrip(".") or "the body"

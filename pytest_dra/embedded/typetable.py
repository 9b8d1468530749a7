"""The shapes of the API objects that the server understands, read from ``types.json``.

One entry of the table is ``"<group>.<Type>": ["<number> <jsonName> <type> [flag ...]", ...]``:
number in protobuf, name in JSON, and the type, which is a scalar, ``quantity``, ``time``,
``microtime``, ``raw``, ``fields``, ``free``, ``intorstr`` or ``#<group>.<Type>``, behind ``*``
(pointer: a zero means something), ``[]`` (list) or ``{}`` (map by string). Flags: ``!`` shown even
when empty,
``zero`` not shown when zero although a struct, ``inline`` its fields belong to the parent in JSON,
``merge=KEY`` (KEY empty: a set) how a strategic merge patch treats the list, ``keys=A,B`` and
``set`` what identifies an item for apply, ``atomic`` replaced as a whole.

A field named ``*`` stands for all that are not listed; ``free`` is any JSON, whose members have
owners of their own.

What follows an ``@`` in a name is not part of the table: each kind of a CustomResourceDefinition
has a name of its own, which is also that of its objects in the store.

Source: field names, numbers and markers of k8s.io/api and k8s.io/apimachinery 0.37.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import json
from collections.abc import Mapping
from typing import Any
from typing import Final

_TABLE: Final = "types.json"

OTHERS: Final = "*"
"""Name of the field that stands for all fields that are not listed."""


class _OpenFields(dict[str, "Field"]):
    """Fields by name, where any name is one."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        super().__init__(fields)
        self._other = self.pop(OTHERS)

    def get(self, name: str, default: Any = None) -> Any:
        """The field of that name."""
        return super().get(name, self._other)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field. ``base`` is a scalar's name or ``message``, then ``message`` names the type.

    ``container`` is "", ``list`` or ``map``. ``merge`` is None unless a strategic merge patch
    merges the list; then it is the key of its items ("" for a set of scalars).
    """

    number: int
    name: str
    base: str
    message: str
    container: str
    pointer: bool
    always: bool
    omit_zero: bool
    inline: bool
    atomic: bool
    merge: str | None
    keys: tuple[str, ...]
    is_set: bool

    @property
    def is_struct(self) -> bool:
        """True for a struct held by value, which JSON always shows."""
        return self.base == "message" and not self.container and not self.pointer


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One type: its fields by protobuf number and, with inlined ones flattened, by JSON name."""

    name: str
    by_number: Mapping[int, Field]
    by_name: Mapping[str, Field]


@functools.lru_cache(maxsize=1)
def _table() -> dict[str, list[str]]:
    text = importlib.resources.files(__package__).joinpath(_TABLE).read_text("utf-8")
    table: dict[str, list[str]] = json.loads(text)
    return table


def has(name: str) -> bool:
    """True if the table has a type of that name."""
    return name.partition("@")[0] in _table()


@functools.cache
def message(name: str) -> Message:
    """The type called ``name``, for example ``resource.Device``.

    Raises:
        KeyError: the table has no such type.
    """
    fields = [_field(line) for line in _table()[name.partition("@")[0]]]
    by_name: dict[str, Field] = {}
    for field in fields:
        if field.inline:
            by_name.update(message(field.message).by_name)
        else:
            by_name[field.name] = field
    if OTHERS in by_name:
        by_name = _OpenFields(by_name)
    return Message(name=name, by_number={f.number: f for f in fields}, by_name=by_name)


def _field(line: str) -> Field:
    number, name, kind, *flags = line.split(" ")
    values = dict(flag.split("=", 1) for flag in flags if "=" in flag)
    container = {"[]": "list", "{}": "map"}.get(kind[:2], "")
    kind = kind[2:] if container else kind
    pointer = kind.startswith("*")
    base = kind.lstrip("*")
    is_message = base.startswith("#")
    return Field(
        number=int(number),
        name=name,
        base="message" if is_message else base,
        message=base[1:] if is_message else "",
        container=container,
        pointer=pointer,
        always="!" in flags,
        omit_zero="zero" in flags,
        inline="inline" in flags,
        atomic="atomic" in flags,
        merge=values.get("merge"),
        keys=tuple(values["keys"].split(",")) if "keys" in values else (),
        is_set="set" in flags,
    )

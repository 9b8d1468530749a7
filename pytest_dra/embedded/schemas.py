"""What the schema of a kind says about an applied configuration: JSON types and field names.

The server looks at no more than that before it merges; that a text is a time or a quantity comes
out later, when the result is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from typing import Final

from pytest_dra.embedded import typetable
from pytest_dra.embedded.typetable import Field

_JSON: Final[Mapping[str, tuple[type, ...]]] = MappingProxyType(
    {
        "string": (str,),
        "bytes": (str,),
        "time": (str,),
        "microtime": (str,),
        "bool": (bool,),
        "int32": (int,),
        "int64": (int,),
        "float64": (int, float),
        "quantity": (str, int, float),
        "intorstr": (str, int),
        "strings": (list,),
    }
)
"""JSON types of scalars; those that are missing take anything."""


def misfit(kind: str, value: Any) -> str:
    """The first thing in a value that a kind of the table does not have; "" if it fits."""
    return next(_message(kind, value, ""), "")


def _message(kind: str, value: Any, where: str) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield f"{where}: expected map, got {_name(value)}"
        return
    fields = typetable.message(kind).by_name
    for name, part in value.items():
        field = fields.get(name)
        if field is None:
            yield f"{where}.{name}: field not declared in schema"
        else:
            yield from _field(field, part, f"{where}.{name}")


def _field(field: Field, value: Any, where: str) -> Iterator[str]:
    if value is None:
        return
    if not field.container:
        yield from _item(field, value, where)
    elif field.container == "list" and isinstance(value, list):
        for index, part in enumerate(value):
            yield from _item(field, part, f"{where}[{index}]")
    elif field.container == "map" and isinstance(value, dict):
        for key, part in value.items():
            yield from _item(field, part, f"{where}.{key}")
    else:
        yield f"{where}: expected {field.container}, got {_name(value)}"


def _item(field: Field, value: Any, where: str) -> Iterator[str]:
    if field.base == "message":
        yield from _message(field.message, value, where)
        return
    known = _JSON.get(field.base)
    if value is None or known is None:
        return
    whole = isinstance(value, float) and value.is_integer() and int in known
    fits = isinstance(value, known) and (bool in known or not isinstance(value, bool))
    if not (fits or whole):
        yield f"{where}: expected {field.base}, got {_name(value)}"


def _name(value: Any) -> str:
    return type(value).__name__

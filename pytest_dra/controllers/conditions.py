"""Conditions in the status of objects."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_dra.spec import Json


def merged(obj: Json, new: Iterable[Json]) -> list[Json]:
    """The conditions of an object, with others of the same types in their place."""
    found = list(new)
    types = {one["type"] for one in found}
    had = (obj.get("status") or {}).get("conditions") or ()
    return [*(one for one in had if one["type"] not in types), *found]

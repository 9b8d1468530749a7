"""Field labels: what the field selectors of a kind may name, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_dra.embedded.selectors import FieldReader
from pytest_dra.embedded.selectors import at

NAMED: Final[Mapping[str, FieldReader]] = MappingProxyType({"metadata.name": at("metadata.name")})
"""Labels of cluster-scoped kinds."""


PLACED: Final[Mapping[str, FieldReader]] = MappingProxyType(
    {**NAMED, "metadata.namespace": at("metadata.namespace")}
)
"""Labels of namespaced kinds."""


def paths(base: Mapping[str, FieldReader], *paths: str) -> Mapping[str, FieldReader]:
    """``base`` and labels that are read at the path of the same name."""
    return MappingProxyType({**base, **{path: at(path) for path in paths}})


def flag(path: str) -> FieldReader:
    """A reader of a boolean that counts as false when unset."""
    read = at(path)
    return lambda obj: read(obj) or "false"


_EVENT_PARTS: Final = (
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
)


def event_fields(about: str, *more: tuple[str, str]) -> Mapping[str, FieldReader]:
    """Labels of events; ``about`` is what they call the object, ``more`` pairs label and path."""
    labels = {f"{about}.{part}": at(f"involvedObject.{part}") for part in _EVENT_PARTS}
    return MappingProxyType(
        {
            **PLACED,
            **labels,
            "reason": at("reason"),
            "type": at("type"),
            **{label: at(path) for label, path in more},
        }
    )

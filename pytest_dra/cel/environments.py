"""What an expression can use, by release, mode and feature gates."""

from __future__ import annotations

import dataclasses
import functools
from typing import Final

from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.cel import macros
from pytest_dra.cel import messages
from pytest_dra.cel import signatures
from pytest_dra.cel import types
from pytest_dra.cel.macros import Expander
from pytest_dra.cel.signatures import Overload
from pytest_dra.cel.types import CelType

MINORS: Final = tuple(kubernetes_version(name).minor for name in VERSIONS)
"""Releases of Kubernetes 1.x whose environment is known."""

LATEST: Final = MINORS[-1]

_NEW_LANGUAGE: Final = 37
"""Release that brought a newer version of the language."""

COST_MAX: Final = 1_000_000
"""Highest cost, estimated at admission and counted at run time."""

LENGTH_MAX: Final = 10 * 1024
"""Longest expression that the API takes, in bytes of UTF-8."""

CODE_POINTS_MAX: Final = 100_000
"""Longest text that the compiler reads."""

DOMAIN_MAX: Final = 63
ID_MAX: Final = 32
VALUE_MAX: Final = 64
"""Longest string of an attribute; a list may have 48 entries, fewer than that."""

ENTRIES_MAX: Final = 32
"""Attributes and capacities of a device, and so the size of each map."""


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """What the cost estimate knows of the input: greatest sizes, by path."""

    size: int
    fields: dict[str, Shape] | None = None
    key: Shape | None = None
    element: Shape | None = None


_LEAF: Final = Shape(VALUE_MAX)


def _maps(leaf: Shape) -> Shape:
    inner = Shape(ENTRIES_MAX, key=Shape(ID_MAX), element=leaf)
    return Shape(ENTRIES_MAX, key=Shape(DOMAIN_MAX), element=inner)


@dataclasses.dataclass(frozen=True)
class Environment:
    """Declarations and rules of one release.

    ``stored`` is what a scheduler evaluates, else what admission accepts as new. ``leaf`` is the
    type of attribute values, ``lists`` says whether values may be lists. ``names`` are the input.
    """

    minor: int
    stored: bool
    functions: dict[str, list[Overload]]
    macros: dict[tuple[str, int], Expander]
    fields: dict[str, CelType]
    leaf: CelType
    lists: bool
    list_results: bool
    shape: Shape
    escapes: bool
    names: dict[str, CelType] = dataclasses.field(default_factory=lambda: {"device": types.DEVICE})

    def type_named(self, name: str) -> CelType | None:
        """The type that ``name`` stands for in an expression, None if it is no type."""
        if name == "optional_type" and self.minor < _NEW_LANGUAGE:
            return types.CelType("opaque", name)
        return _TYPE_NAMES.get(name)

    def shape_at(self, path: tuple[str, ...]) -> Shape | None:
        """What is known of the value at a path that starts with ``device``."""
        if not path or path[0] != "device":
            return None
        current: Shape | None = self.shape
        for name in path[1:]:
            if current is None:
                return None
            if name in ("@items", "@values"):
                current = current.element
            elif name == "@keys":
                current = current.key
            elif current.fields and name in current.fields:
                current = current.fields[name]
            elif current.element is _LEAF:
                current = _LEAF
            else:
                return None
        return current


_TYPE_NAMES: Final[dict[str, CelType]] = {
    "bool": types.BOOL, "bytes": types.BYTES, "double": types.DOUBLE, "int": types.INT,
    "string": types.STRING, "uint": types.UINT, "null_type": types.NULL, "type": types.TYPE,
    "list": types.list_of(types.DYN), "map": types.map_of(types.DYN, types.DYN),
    "optional_type": types.optional_of(types.DYN), "net.IP": types.IP, "net.CIDR": types.CIDR,
    "kubernetes.DRADevice": types.DEVICE, "timestamp": types.TIMESTAMP,
    "duration": types.DURATION, **messages.TYPES,
}  # fmt: skip

TYPE_VALUES: Final = frozenset({
    "bool", "bytes", "double", "int", "string", "uint", "null_type", "type", "list", "map",
    "optional_type", "net.IP", "net.CIDR", "google.protobuf.Timestamp",
    "google.protobuf.Duration", "google.protobuf.Empty",
})  # fmt: skip
"""Names of types that are values, too; the other names compile no further."""


def environment(
    minor: int = LATEST, *, stored: bool = True, features: frozenset[str] = frozenset()
) -> Environment:
    """The environment of Kubernetes 1.``minor``.

    ``features`` are the gates ``ConsumableCapacity`` and ``ListTypeAttributes``.

    Raises:
        ValueError: a release that is not known.
    """
    if minor not in MINORS:
        raise ValueError(f"no CEL environment for Kubernetes 1.{minor}, want one of {MINORS}")
    return _environment(minor, stored, features)


@functools.lru_cache(maxsize=64)
def _environment(minor: int, stored: bool, features: frozenset[str]) -> Environment:  # noqa: FBT001 - positional for the cache
    gate = minor >= 36 and "ListTypeAttributes" in features
    dyn_leaf = gate or (stored and minor >= 37)
    leaf = types.DYN if dyn_leaf else types.ANY
    fields = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, leaf)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    if stored or "ConsumableCapacity" in features:
        fields["allowMultipleAllocations"] = types.BOOL
    shapes = {
        "driver": Shape(DOMAIN_MAX),
        "attributes": _maps(_LEAF),
        "capacity": _maps(Shape(0)),
        "allowMultipleAllocations": Shape(1),
    }
    cel_lists = stored or minor >= 35
    includes = gate or (stored and minor >= 36)
    return Environment(
        minor=minor,
        stored=stored,
        functions=_functions(
            cel_lists=cel_lists,
            includes=includes,
            old=minor < _NEW_LANGUAGE,
            strings_first=stored and minor >= 37,
        ),
        macros={**macros.STANDARD, **(macros.LISTS if cel_lists else {})},
        fields=fields,
        leaf=leaf,
        lists=minor >= 37 or gate,
        list_results=stored or gate,
        shape=Shape(0, fields=shapes),
        escapes=minor >= _NEW_LANGUAGE,
    )


@functools.lru_cache(maxsize=16)
def _functions(
    *, cel_lists: bool, includes: bool, old: bool, strings_first: bool
) -> dict[str, list[Overload]]:
    tables = [signatures.STANDARD, signatures.EXTENSIONS, signatures.KUBERNETES]
    tables.append(signatures.AUTHORIZATION)
    if cel_lists:
        tables.append(signatures.LISTS)
    if old:
        tables.append(signatures.INT_DURATION)
    if includes:
        tables.append(signatures.INCLUDES)
    found = signatures.by_name(overload for table in tables for overload in _read(table))
    if strings_first:
        # Which overload is tried first decides the type of a variable that has none yet.
        for name in ("indexOf", "lastIndexOf"):
            found[name].sort(key=lambda one: one.args[0].kind == "list")
    return found


@functools.lru_cache(maxsize=8)
def _read(table: str) -> list[Overload]:
    return signatures.read(table)

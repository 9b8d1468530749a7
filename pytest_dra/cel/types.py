"""Types of the checker: what they are, when one fits another, and how variables are bound."""

from __future__ import annotations

import dataclasses
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class CelType:
    """A type. ``kind`` groups, ``name`` identifies, ``params`` are its parts.

    ``nullable`` marks wrapper types, which hold null as well; it plays no part in identity.
    """

    kind: str
    name: str
    params: tuple[CelType, ...] = ()
    nullable: bool = dataclasses.field(default=False, compare=False)

    def __str__(self) -> str:
        if self.kind == "param":
            return f"<{self.name}>"
        if self.nullable:
            return f"wrapper({self.name})"
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


DYN: Final = CelType("dyn", "dyn")
ANY: Final = CelType("any", "google.protobuf.Any")
BOOL: Final = CelType("bool", "bool")
BYTES: Final = CelType("bytes", "bytes")
DOUBLE: Final = CelType("double", "double")
DURATION: Final = CelType("duration", "google.protobuf.Duration")
ERROR: Final = CelType("error", "error")
INT: Final = CelType("int", "int")
NULL: Final = CelType("null", "null_type")
STRING: Final = CelType("string", "string")
TIMESTAMP: Final = CelType("timestamp", "google.protobuf.Timestamp")
TYPE: Final = CelType("type", "type")
UINT: Final = CelType("uint", "uint")
QUANTITY: Final = CelType("struct", "kubernetes.Quantity")
SEMVER: Final = CelType("struct", "kubernetes.Semver")
URL: Final = CelType("struct", "kubernetes.URL")
FORMAT: Final = CelType("struct", "kubernetes.NamedFormat")
DEVICE: Final = CelType("struct", "kubernetes.DRADevice")
IP: Final = CelType("opaque", "net.IP")
CIDR: Final = CelType("opaque", "net.CIDR")


def list_of(element: CelType) -> CelType:
    """``list(element)``."""
    return CelType("list", "list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """``map(key, value)``."""
    return CelType("map", "map", (key, value))


def optional_of(value: CelType) -> CelType:
    """``optional_type(value)``."""
    return CelType("opaque", "optional_type", (value,))


def type_of(value: CelType) -> CelType:
    """``type(value)``."""
    return CelType("type", "type", (value,))


def variable(name: str) -> CelType:
    """A type variable."""
    return CelType("param", name)


def is_dyn(kind: CelType) -> bool:
    """True for *dyn* and *any*."""
    return kind.kind in ("dyn", "any")


def is_optional(kind: CelType) -> bool:
    """True for optional types."""
    return kind.kind == "opaque" and kind.name == "optional_type"


_MAY_BE_NULL: Final = frozenset({"opaque", "struct", "any", "duration", "timestamp", "null"})
_SCALARS: Final = frozenset({
    "bool", "bytes", "double", "int", "string", "uint", "any", "duration", "timestamp", "struct",
})  # fmt: skip


class Bindings:
    """Type variables and what they stand for. Failed trials leave no trace."""

    __slots__ = ("bound", "count")

    def __init__(self) -> None:
        self.bound: dict[str, CelType] = {}
        self.count = 0

    def fresh(self) -> CelType:
        """A new type variable."""
        self.count += 1
        return variable(f"_var{self.count}")

    def assignable(self, left: list[CelType], right: list[CelType]) -> bool:
        """True if each of ``left`` fits its counterpart; only then variables get bound."""
        before = dict(self.bound)
        if len(left) == len(right) and all(
            self._fits(one, other) for one, other in zip(left, right, strict=False)
        ):
            return True
        self.bound = before
        return False

    def _fits(self, left: CelType, right: CelType) -> bool:
        if right.kind == "param":
            valid, bound = self._substitutable(left, right)
            if valid:
                return True
            if bound:
                return False
        if left.kind == "param":
            return self._substitutable(right, left)[0]
        if left.kind in ("dyn", "any", "error") or right.kind in ("dyn", "any", "error"):
            return True
        if left.kind == "null":
            return right.nullable or right.kind in _MAY_BE_NULL
        if right.kind == "null":
            return left.nullable or left.kind in _MAY_BE_NULL
        if left.kind in _SCALARS:
            return left.kind == right.kind and left.name == right.name
        if left.kind == "type":
            return right.kind == "type"
        return (
            left.kind == right.kind
            and left.name == right.name
            and len(left.params) == len(right.params)
            and all(
                self._fits(one, other)
                for one, other in zip(left.params, right.params, strict=False)
            )
        )

    def _substitutable(self, kind: CelType, param: CelType) -> tuple[bool, bool]:
        """Whether ``param`` can stand for ``kind``, and whether it was bound before."""
        if kind == param:
            return True, True
        bound = self.bound.get(param.name)
        if bound is not None:
            if kind == bound:
                return True, True
            if not self._fits(kind, bound):
                return False, True
            general = most_general(kind, bound)
            if not self._occurs(param, general):
                self.bound[param.name] = general
            return True, True
        if self._occurs(param, kind):
            return False, False
        self.bound[param.name] = kind
        return True, False

    def _occurs(self, param: CelType, within: CelType) -> bool:
        if param == within:
            return True
        if within.kind == "param":
            bound = self.bound.get(within.name)
            return bound is not None and self._occurs(param, bound)
        return any(self._occurs(param, part) for part in within.params)

    def resolve(self, kind: CelType, *, free_is_dyn: bool = False) -> CelType:
        """The type with its bound variables replaced."""
        while kind.kind == "param":
            bound = self.bound.get(kind.name)
            if bound is None:
                return DYN if free_is_dyn else kind
            kind = bound
        if not kind.params:
            return kind
        params = tuple(self.resolve(part, free_is_dyn=free_is_dyn) for part in kind.params)
        return kind if params == kind.params else CelType(kind.kind, kind.name, params)


def most_general(one: CelType, other: CelType) -> CelType:
    """The more general of two types that fit each other."""
    return one if _less_specific(one, other) else other


def _less_specific(one: CelType, other: CelType) -> bool:
    if is_dyn(one) or one.kind == "param":
        return True
    if is_dyn(other) or other.kind == "param" or one.kind != other.kind:
        return False
    if one.kind == "type":
        return True
    if one.kind in ("opaque", "list", "map"):
        return (
            one.name == other.name
            and len(one.params) == len(other.params)
            and all(_less_specific(a, b) for a, b in zip(one.params, other.params, strict=False))
        )
    return one == other


def equivalent(one: CelType, other: CelType) -> bool:
    """The same type, names of variables aside."""
    return (
        one.kind == other.kind
        and (one.kind == "param" or one.name == other.name)
        and len(one.params) == len(other.params)
        and all(equivalent(a, b) for a, b in zip(one.params, other.params, strict=False))
    )

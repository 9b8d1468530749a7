"""Variables with their chain of fields and indices, and how each step is looked up and charged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import Final
from typing import Protocol

from pytest_dra.cel import operations
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.opaque import CidrValue
from pytest_dra.cel.opaque import IpValue
from pytest_dra.cel.opaque import QuantityValue
from pytest_dra.cel.opaque import SemVer
from pytest_dra.cel.run import Scope
from pytest_dra.cel.run import observe
from pytest_dra.cel.urls import UrlValue
from pytest_dra.cel.values import NONE
from pytest_dra.cel.values import CelMap
from pytest_dra.cel.values import Empty
from pytest_dra.cel.values import Optional
from pytest_dra.cel.values import TypeValue
from pytest_dra.cel.values import Uint

KEYS: Final = frozenset({str, int, Uint, bool, float})
"""Types of keys and indices."""

ABSENT: Final = object()
"""A key that is not there, where that is asked for."""


_KEY_CLASSES: Final = {
    "net.CIDR": "parse-cidr", "net.IP": "parse-ip", "kubernetes.URL": "parse-url",
}  # fmt: skip
"""Class of the error for keys of some types, as the stored answers have it."""


class Evaluated(Protocol):
    """A step that gives a value."""

    @property
    def id(self) -> int:
        """The node under which the value is noted."""

    def run(self, scope: Scope) -> object:
        """The value in a scope."""


def look_up(target: object, key: object, *, optional: bool) -> object:
    """A field or element; :data:`ABSENT` or an error if there is none."""
    if isinstance(target, CelMap):
        pair = target.find(key)
        if pair is not None:
            return pair[1]
        return ABSENT if optional else _missing(key)
    if isinstance(target, list):
        index = operations.index_of(key)
        if isinstance(index, CelError):
            return index
        if 0 <= index < len(target):
            return target[index]
        return ABSENT if optional else CelError("index", f"index out of bounds: {index}")
    if isinstance(target, Empty):
        if key.__class__ is str:
            return CelError("other", f"no such field {key!r}")
        return CelError("no-such-overload", "no such overload")
    if isinstance(target, CelError):
        return target
    return ABSENT if optional else _missing(key)


def _missing(key: object) -> CelError:
    return CelError("no-such-key", f"no such key: {key}")


class Qualifier:
    """One step of a chain with a constant key. ``test`` ones tell only whether it is there."""

    __slots__ = ("id", "key", "optional", "test")

    def __init__(self, node: int, key: object, *, optional: bool, test: bool = False) -> None:
        self.id = node
        self.key = key
        self.optional = optional
        self.test = test

    def qualify(self, scope: Scope, target: object) -> object:
        """The value of the step."""
        found = look_up(target, self.key, optional=self.test)
        if self.test and not isinstance(found, CelError):
            found = found is not ABSENT
        observe(scope.state, self.id, found, 1)
        return found

    def qualify_if_present(self, scope: Scope, target: object) -> object:
        """The value of the step or :data:`ABSENT`."""
        found = look_up(target, self.key, optional=True)
        if found is not ABSENT and not isinstance(found, CelError):
            observe(scope.state, self.id, found, 1)
        return found


class DynamicQualifier:
    """One step of a chain whose key is computed."""

    __slots__ = ("forgets", "id", "optional", "source")

    def __init__(self, node: int, source: Attribute, *, optional: bool, forgets: bool) -> None:
        self.id = node
        self.source = source
        self.optional = optional
        self.forgets = forgets

    def _key(self, scope: Scope) -> object:
        key = self.source.resolve(scope)
        if key.__class__ in KEYS or isinstance(key, CelError):
            return key
        name = operations.type_name(key)
        return CelError(_KEY_CLASSES.get(name, "other"), f"no key: a value of type {name}")

    def qualify(self, scope: Scope, target: object) -> object:
        """The value of the step."""
        key = self._key(scope)
        found = key if isinstance(key, CelError) else look_up(target, key, optional=False)
        self._observe(scope, found)
        return found

    def qualify_if_present(self, scope: Scope, target: object) -> object:
        """The value of the step or :data:`ABSENT`."""
        key = self._key(scope)
        found = key if isinstance(key, CelError) else look_up(target, key, optional=True)
        if found is not ABSENT and not isinstance(found, CelError):
            self._observe(scope, found)
        return found

    def _observe(self, scope: Scope, found: object) -> None:
        if self.forgets:
            scope.state.drop(self.id)
        observe(scope.state, self.id, found, 1)


def plain_value(value: object) -> object:
    """What was left of a value in an optional up to Kubernetes 1.36: opaque ones got lost."""
    if isinstance(value, Optional):
        return plain_value(value.value) if value.has_value else None
    if isinstance(value, TypeValue):
        return value.name
    if isinstance(value, (QuantityValue, SemVer, IpValue, CidrValue, UrlValue)):
        return CelError("conversion", f"no value of type {value.type_name} in an optional")
    return value


class Chain:
    """A variable, or the value of a step, with the qualifiers behind it.

    ``plain`` ones convert what they find in optionals, see :func:`plain_value`.
    """

    __slots__ = ("base", "base_id", "operand", "plain", "qualifiers")

    def __init__(
        self, node: int, *, base: Callable[[Scope], object] | None = None,
        operand: Any = None, plain: bool = False,
    ) -> None:  # fmt: skip
        self.base_id = node
        self.base = base
        self.operand = operand
        self.plain = plain
        self.qualifiers: list[Qualifier | DynamicQualifier] = []

    @property
    def id(self) -> int:
        """Id of the last step."""
        return self.qualifiers[-1].id if self.qualifiers else self.base_id

    def add(self, qualifier: Qualifier | DynamicQualifier) -> None:
        """Append a step."""
        self.qualifiers.append(qualifier)

    def resolve(self, scope: Scope) -> object:
        """The value at the end of the chain."""
        target = self.base(scope) if self.base is not None else self.operand.run(scope)
        if isinstance(target, CelError):
            return target
        if not self.qualifiers:
            if target is scope.device:
                return scope.device.again()
            if self.plain and isinstance(target, Optional) and target.has_value:
                return Optional(plain_value(target.value))
            return target
        optional = False
        if isinstance(target, Optional):
            if not target.has_value:
                return target
            optional = True
            target = plain_value(target.value) if self.plain else target.value
        for qualifier in self.qualifiers:
            optional = optional or qualifier.optional
            if not optional:
                target = qualifier.qualify(scope, target)
            else:
                target = qualifier.qualify_if_present(scope, target)
                if target is ABSENT:
                    return NONE
            if isinstance(target, CelError):
                return target
        if target.__class__ is CelMap and target.textual and target.default is None:
            # The reference makes a map of a native one each time that it is read.
            target = target.again()
        return Optional(target) if optional else target


class Choice:
    """The ternary operator as the head of a chain: steps are added to both branches."""

    __slots__ = ("condition", "id_of_call", "no", "yes")

    def __init__(self, node: int, condition: Evaluated, yes: Attribute, no: Attribute) -> None:
        self.id_of_call = node
        self.condition = condition
        self.yes = yes
        self.no = no

    @property
    def id(self) -> int:
        """Id of the last step if both branches have it, else of the operator."""
        return self.yes.id if self.yes.id == self.no.id else self.id_of_call

    def add(self, qualifier: Qualifier | DynamicQualifier) -> None:
        """Append a step to both branches."""
        self.yes.add(qualifier)
        self.no.add(qualifier)

    def resolve(self, scope: Scope) -> object:
        """The value of the branch that the condition chooses."""
        chosen = self.condition.run(scope)
        if chosen is True:
            return self.yes.resolve(scope)
        if chosen is False:
            return self.no.resolve(scope)
        if isinstance(chosen, CelError):
            return chosen
        return CelError("no-such-overload", "no such overload")


Attribute = Chain | Choice

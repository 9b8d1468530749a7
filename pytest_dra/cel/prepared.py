"""Devices made ready for many selectors: every value under one key, looked up at once."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.cel.devices import AS_THEY_ARE
from pytest_dra.cel.devices import attribute_value
from pytest_dra.cel.devices import capacity_value
from pytest_dra.cel.devices import device_value
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import EvaluationError
from pytest_dra.cel.opaque import QuantityValue
from pytest_dra.cel.opaque import capacity_of
from pytest_dra.cel.values import INT_MAX
from pytest_dra.cel.values import INT_MIN
from pytest_dra.cel.values import CelMap

DRIVER: Final = "driver"
SHARED: Final = "shared"
"""Key of ``allowMultipleAllocations``."""


def leaf_key(field: str, domain: str, identifier: str) -> str:
    """Key of an attribute or a capacity. A domain has no slash, so keys are unambiguous."""
    return f"{field[0]}{domain}/{identifier}"


def domain_key(field: str, domain: str) -> str:
    """Key of a domain that has at least one attribute or capacity."""
    return f"{field[0].upper()}{domain}"


_NAMES_MAX: Final = 512
"""Names whose keys are kept per driver; devices have few, but a driver may name them at will."""


class Keys:
    """Keys of one driver's attributes or capacities by name, found once for many devices."""

    __slots__ = ("bare", "domain", "field", "known", "letter")

    def __init__(self, field: str, driver: str) -> None:
        self.field = field
        self.letter = field[0]
        self.bare = leaf_key(field, driver, "")
        self.domain = domain_key(field, driver)
        self.known: dict[str, tuple[str, str]] = {}

    def find(self, name: str) -> tuple[str, str]:
        """Keys of a value and of its domain."""
        if name.__class__ is not str:
            text = f"{self.field}: a name is no text: {name!r:.60}"
            raise EvaluationError(CelError("unsupported-attribute", text))
        if "/" in name:
            # leaf_key and domain_key, without taking the name apart.
            keys = self.letter + name, self.letter.upper() + name[: name.index("/")]
        else:
            keys = self.bare + name, self.domain
        if len(self.known) < _NAMES_MAX:
            self.known[name] = keys
        return keys


def _want_map(value: object, field: str) -> None:
    if not isinstance(value, Mapping):
        raise EvaluationError(CelError("unsupported-attribute", f"{field} is no map"))


class Prepared:
    """One device. ``leaves`` holds its values by :func:`leaf_key`.

    ``fault`` is set if the device fails every expression.
    """

    __slots__ = ("_value", "device", "driver", "fault", "leaves", "lists")

    def __init__(
        self,
        driver: str,
        device: Mapping[str, Any],
        *,
        lists: bool = True,
        keys: tuple[Keys, Keys] | None = None,
    ) -> None:
        self.driver = driver
        self.device = device
        self.lists = lists
        self.fault: CelError | None = None
        self.leaves: dict[str, object] = {}
        self._value: CelMap | None = None
        try:
            self._fill(*(keys or _keys_of(driver)))
        except EvaluationError as error:
            self.fault = error.error

    def _fill(self, named: Keys, measured: Keys) -> None:
        device = self.device
        leaves = self.leaves
        attributes = device.get("attributes")
        if attributes:
            self._fill_attributes(attributes, named)
        capacity = device.get("capacity")
        if capacity:
            if capacity.__class__ is not dict:
                _want_map(capacity, "capacity")
            known, find = measured.known, measured.find
            for name, entry in capacity.items():
                leaf, domain = known.get(name) or find(name)
                text = entry.get("value") if entry.__class__ is dict else None
                value: object = capacity_of(text) if text.__class__ is str else None
                if value.__class__ is not QuantityValue:
                    value = capacity_value(name, entry)
                leaves[leaf] = value
                leaves[domain] = True
        leaves[DRIVER] = self.driver
        leaves[SHARED] = device.get("allowMultipleAllocations") is True

    def _fill_attributes(self, attributes: Mapping[str, Any], named: Keys) -> None:
        if attributes.__class__ is not dict:
            _want_map(attributes, "attributes")
        leaves, lists = self.leaves, self.lists
        known, find = named.known, named.find
        for name, attribute in attributes.items():
            leaf, domain = known.get(name) or find(name)
            leaves[domain] = True
            if attribute.__class__ is dict and len(attribute) == 1:
                # The common case by a shorter way: attribute_value() would come to the same.
                for kind in attribute:
                    value = attribute[kind]
                if value.__class__ is AS_THEY_ARE.get(kind):
                    leaves[leaf] = value
                    continue
                if kind == "int" and value.__class__ is int and INT_MIN <= value <= INT_MAX:
                    leaves[leaf] = value
                    continue
            leaves[leaf] = attribute_value(name, attribute, lists=lists)

    @property
    def value(self) -> CelMap:
        """The device as the exact evaluation takes it; made when first asked for."""
        if self._value is None:
            self._value = device_value(self.driver, self.device, lists=self.lists)
        return self._value


def _keys_of(driver: str) -> tuple[Keys, Keys]:
    return Keys("attributes", driver), Keys("capacity", driver)


def prepare(
    devices: Iterable[tuple[str, Mapping[str, Any]]], *, lists: bool = True
) -> list[Prepared]:
    """Pairs of driver and device in the API's form, made ready."""
    keys: dict[str, tuple[Keys, Keys]] = {}
    made = []
    for driver, device in devices:
        found = keys.get(driver)
        if found is None:
            found = keys[driver] = _keys_of(driver)
        made.append(Prepared(driver, device, lists=lists, keys=found))
    return made

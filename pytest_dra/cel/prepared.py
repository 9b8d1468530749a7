"""Devices made ready for many selectors: every value under one key, looked up at once."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.cel.devices import attribute_value
from pytest_dra.cel.devices import capacity_value
from pytest_dra.cel.devices import device_value
from pytest_dra.cel.devices import split_name
from pytest_dra.cel.errors import CelError
from pytest_dra.cel.errors import EvaluationError
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


class Keys:
    """Keys of one driver's attributes or capacities by name, found once for many devices."""

    __slots__ = ("driver", "field", "known")

    def __init__(self, field: str, driver: str) -> None:
        self.field = field
        self.driver = driver
        self.known: dict[str, tuple[str, str]] = {}

    def find(self, name: str) -> tuple[str, str]:
        """Keys of a value and of its domain."""
        if name.__class__ is not str:
            text = f"{self.field}: a name is no text: {name!r:.60}"
            raise EvaluationError(CelError("unsupported-attribute", text))
        domain, identifier = split_name(name, self.driver)
        keys = leaf_key(self.field, domain, identifier), domain_key(self.field, domain)
        self.known[name] = keys
        return keys


def _want_map(value: object, field: str) -> None:
    if value.__class__ is not dict and not isinstance(value, Mapping):
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
        driver, device, lists = self.driver, self.device, self.lists
        leaves = self.leaves
        attributes = device.get("attributes")
        if attributes:
            _want_map(attributes, "attributes")
            known = named.known
            for name, attribute in attributes.items():
                leaf, domain = known.get(name) or named.find(name)
                leaves[leaf] = attribute_value(name, attribute, lists=lists)
                leaves[domain] = True
        capacity = device.get("capacity")
        if capacity:
            _want_map(capacity, "capacity")
            known = measured.known
            for name, entry in capacity.items():
                leaf, domain = known.get(name) or measured.find(name)
                leaves[leaf] = capacity_value(name, entry)
                leaves[domain] = True
        leaves[DRIVER] = driver
        leaves[SHARED] = device.get("allowMultipleAllocations") is True

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

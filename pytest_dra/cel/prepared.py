"""Devices made ready for many selectors: every value under one key, looked up at once."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.cel.devices import attribute_value
from pytest_dra.cel.devices import capacity_value
from pytest_dra.cel.devices import device_value
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


def _want_map(value: object, field: str) -> None:
    if not isinstance(value, Mapping) or not all(name.__class__ is str for name in value):
        raise EvaluationError(CelError("unsupported-attribute", f"{field} is no map of names"))


class Prepared:
    """One device. ``leaves`` holds its values by :func:`leaf_key`.

    ``fault`` is set if the device fails every expression.
    """

    __slots__ = ("_value", "device", "driver", "fault", "leaves", "lists")

    def __init__(self, driver: str, device: Mapping[str, Any], *, lists: bool = True) -> None:
        self.driver = driver
        self.device = device
        self.lists = lists
        self.fault: CelError | None = None
        self.leaves: dict[str, object] = {}
        self._value: CelMap | None = None
        try:
            self._fill()
        except EvaluationError as error:
            self.fault = error.error

    def _fill(self) -> None:
        driver, device, lists = self.driver, self.device, self.lists
        leaves = self.leaves
        attributes = device.get("attributes")
        if attributes:
            _want_map(attributes, "attributes")
            for name, attribute in attributes.items():
                domain, slash, identifier = name.partition("/")
                if not slash:
                    domain, identifier = driver, name
                leaves[f"a{domain}/{identifier}"] = attribute_value(name, attribute, lists=lists)
                leaves[f"A{domain}"] = True
        capacity = device.get("capacity")
        if capacity:
            _want_map(capacity, "capacity")
            for name, entry in capacity.items():
                domain, slash, identifier = name.partition("/")
                if not slash:
                    domain, identifier = driver, name
                leaves[f"c{domain}/{identifier}"] = capacity_value(name, entry)
                leaves[f"C{domain}"] = True
        leaves[DRIVER] = driver
        leaves[SHARED] = device.get("allowMultipleAllocations") is True

    @property
    def value(self) -> CelMap:
        """The device as the exact evaluation takes it; made when first asked for."""
        if self._value is None:
            self._value = device_value(self.driver, self.device, lists=self.lists)
        return self._value


def prepare(
    devices: Iterable[tuple[str, Mapping[str, Any]]], *, lists: bool = True
) -> list[Prepared]:
    """Pairs of driver and device in the API's form, made ready."""
    return [Prepared(driver, device, lists=lists) for driver, device in devices]

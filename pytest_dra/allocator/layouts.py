"""The devices of a slice, read once and shared by all slices that list the same ones.

Sets of devices are whole numbers: bit ``i`` stands for the device at place ``i``.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator.rules import Rules
from pytest_dra.api.quantity import Quantity
from pytest_dra.cel import Prepared
from pytest_dra.cel import environment
from pytest_dra.cel import prepare

Device = Mapping[str, Any]
Counters = Mapping[tuple[str, str], int]
"""Amounts in billionths by counter set and counter."""

_MARSHAL: Final = 2
"""Version of the encoding that depends on values only, not on which objects are the same."""


def ordered(bits: int) -> list[int]:
    """Places of the bits that are set, lowest first."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


class Layout:
    """A list of devices of one driver.

    ``shareable``, ``consumers`` (of counters), ``tainted``, ``conditional`` (with binding
    conditions) and ``priced`` are sets of devices. What is not ``priced`` has room for any
    request that asks for no capacity, as long as nobody uses it.
    """

    __slots__ = (
        "_consumption", "bits", "conditional", "conditions_set", "consumers", "devices", "driver",
        "duplicate", "full", "grouped", "id", "prepared", "priced", "shareable", "size", "tainted",
    )  # fmt: skip

    def __init__(self, number: int, driver: str, devices: Sequence[Device], rules: Rules) -> None:
        self.id = number
        self.driver = driver
        self.devices = devices
        self.size = len(devices)
        self.full = (1 << self.size) - 1
        self.bits: dict[str, int] = {}
        self._consumption: dict[int, dict[tuple[str, str], int]] = {}
        self.duplicate: str | None = None
        self.shareable = self.consumers = self.tainted = self.priced = self.conditional = 0
        self.conditions_set = self.grouped = False
        for place, device in enumerate(devices):
            self._read(device, 1 << place, rules)
        self.prepared: list[Prepared] = prepare(
            ((driver, _seen(device, rules)) for device in devices), lists=_environment(rules).lists
        )

    def _read(self, device: Device, bit: int, rules: Rules) -> None:
        name = str(device.get("name") or "")
        if name in self.bits:
            self.duplicate = self.duplicate or name
        self.bits[name] = self.bits.get(name, 0) | bit
        get = device.get
        if rules.sharing and get("allowMultipleAllocations"):
            self.shareable |= bit
        consumes = get("consumesCounters")
        if consumes:
            self.consumers |= bit
            if any(one.get("compatibilityGroups") for one in consumes):
                self.grouped = True
        if get("taints"):
            self.tainted |= bit
        for entry in (get("capacity") or {}).values():
            if entry.get("requestPolicy") or str(entry.get("value")).strip().startswith("-"):
                self.priced |= bit
        conditions = get("bindingConditions")
        if conditions is not None:
            self.conditions_set = True
            if conditions:
                self.conditional |= bit

    def name(self, place: int) -> str:
        """The name of a device."""
        return str(self.devices[place].get("name") or "")

    def consumption(self, place: int) -> dict[tuple[str, str], int]:
        """What a device takes of each counter, in billionths."""
        known = self._consumption.get(place)
        if known is not None:
            return known
        amounts: dict[tuple[str, str], int] = {}
        for one in self.devices[place].get("consumesCounters") or ():
            for name, counter in (one.get("counters") or {}).items():
                key = (one.get("counterSet") or "", name)
                amounts[key] = amounts.get(key, 0) + nanos(counter)
        self._consumption[place] = amounts
        return amounts


def encoded(value: Any) -> bytes:
    """A value as bytes, which are the same for equal values with keys in the same order."""
    try:
        return marshal.dumps(value, _MARSHAL)
    except ValueError:
        return repr(value).encode()


def nanos(holder: Mapping[str, Any] | None) -> int:
    """The amount of a ``value`` in billionths; zero if there is none."""
    value = (holder or {}).get("value")
    return 0 if value is None else Quantity.parse(value).nanos


def _environment(rules: Rules) -> Any:
    return environment(rules.minor, features=cel_features(rules))


def cel_features(rules: Rules) -> frozenset[str]:
    """Gates that the CEL environment asks for."""
    on = {"ConsumableCapacity": rules.consumable, "ListTypeAttributes": rules.list_attributes}
    return frozenset(name for name, value in on.items() if value)


def _seen(device: Device, rules: Rules) -> Device:
    """A device as selectors see it."""
    if rules.basic and device.get("allowMultipleAllocations"):
        return {**device, "allowMultipleAllocations": None}
    return device


class Layouts:
    """All layouts of an index."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.known: dict[bytes, Layout] = {}

    def find(self, driver: str, devices: Sequence[Device]) -> Layout:
        """The layout for a list of devices."""
        digest = hashlib.blake2b(encoded((driver, devices)), digest_size=16).digest()
        layout = self.known.get(digest)
        if layout is None:
            layout = Layout(len(self.known), driver, devices, self.rules)
            self.known[digest] = layout
        return layout

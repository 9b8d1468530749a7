"""Faults of opaque configuration: whose it is, what it may hold, and which entry counts (CONF)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_dra.fake_driver.claims import Claims
from pytest_dra.fake_driver.claims import Held
from pytest_dra.fake_driver.errors import ConfigError
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.opaque import FIELDS
from pytest_dra.fake_driver.opaque import PLAIN
from pytest_dra.fake_driver.opaque import Configs
from pytest_dra.fake_driver.opaque import DeviceConfig
from pytest_dra.fake_driver.preparer import Preparer
from pytest_dra.fake_driver.room import Room


class Wanting(Configs):
    """Takes no defaults."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if not self.entries:
            raise ConfigError("no configuration is found: want one for this driver")


@fault("CONF-001", "return an error when no configuration is found")
class WantsConfiguration(Claims):
    configs = Wanting


class Everybodys(Configs):
    """Takes the entries of all drivers for its own."""

    def is_own(self, opaque: dict[str, Any], driver: str) -> bool:
        return True


@fault("CONF-002", "decode every block with the own decoder")
class ReadsEverybodys(Claims):
    configs = Everybodys


class Forgiving(Configs):
    """Takes defaults for what it cannot read."""

    def decode(self, parameters: Any, path: str) -> DeviceConfig:
        try:
            return super().decode(parameters, path)
        except ConfigError:
            return PLAIN


@fault("CONF-003", "ignore a decode error and use defaults")
class ForgivesErrors(Claims):
    configs = Forgiving


class Lenient(Configs):
    """Does not look at fields that it does not know."""

    def decode(self, parameters: Any, path: str) -> DeviceConfig:
        if isinstance(parameters, dict):
            parameters = {key: value for key, value in parameters.items() if key in FIELDS}
        return super().decode(parameters, path)


@fault("CONF-004", "decode leniently")
class DecodesLeniently(Claims):
    configs = Lenient


class ClassFirst(Configs):
    """Takes the class's entry where there is one."""

    def of(self, request: str) -> DeviceConfig:
        for entry in self.entries:
            if entry.covers(request) and entry.is_of_class:
                return entry.config
        return super().of(request)


@fault("CONF-005", "use the first matching entry of the class where there is one")
class PrefersClass(Claims):
    configs = ClassFirst


class LastForAll(Configs):
    """Does not look at what requests an entry is for."""

    def of(self, request: str) -> DeviceConfig:
        return self.entries[-1].config if self.entries else PLAIN


@fault("CONF-006", "ignore the request list and use the last block for all")
class IgnoresRequests(Claims):
    configs = LastForAll


class LastWins(Room):
    """Lets each share set the device anew."""

    def of_settings(self, held: Held, others: Iterable[Held]) -> str:
        return ""


@fault("CONF-008", "last one wins")
class LastSetting(Preparer):
    def room(self) -> Room:
        return LastWins(self.inventory)

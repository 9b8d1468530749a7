"""The driver's own opaque configuration: which entry counts for a result, and what it may hold.

Shape of ``opaque.parameters``: {apiVersion: fake.dra.example/v1, kind: DeviceConfig,
mode: exclusive | shared (default exclusive), label: text (default empty)}; nothing else.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Final

from pytest_dra.fake_driver.errors import ConfigError

API_VERSION: Final = "fake.dra.example/v1"
KIND: Final = "DeviceConfig"
MODES: Final = ("exclusive", "shared")

LABEL_MAX: Final = 1024
"""Characters of a label; it becomes one environment variable."""

SHOWN_MAX: Final = 80
"""Characters of a bad value that an error repeats."""

FIELDS: Final = ("apiVersion", "kind", "mode", "label")
_SOURCES = ("FromClass", "FromClaim")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConfig:
    """The settings in force for one device of a claim."""

    mode: str = MODES[0]
    label: str = ""


PLAIN: Final = DeviceConfig()
"""In force where nothing is configured."""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."


def _fail(path: str, got: str, want: str) -> ConfigError:
    return ConfigError(f"configuration {path} is {got}; want {want}")


def decode(parameters: Any, path: str) -> DeviceConfig:
    """Check one ``opaque.parameters`` strictly; ConfigError names ``path``, got and want."""
    if not isinstance(parameters, dict):
        raise _fail(path, _shown(parameters), "an object")
    for key in parameters:
        if key not in FIELDS:
            raise _fail(f"{path}.{_shown(key)}", "no known field", f"only {', '.join(FIELDS)}")
    for key, only in (("apiVersion", API_VERSION), ("kind", KIND)):
        got = parameters.get(key)
        if got != only:
            raise _fail(f"{path}.{key}", "missing" if got is None else _shown(got), only)
    mode = parameters.get("mode", MODES[0])
    if mode not in MODES:
        raise _fail(f"{path}.mode", _shown(mode), " or ".join(MODES))
    label = parameters.get("label", "")
    if not isinstance(label, str) or len(label) > LABEL_MAX or not label.isprintable():
        raise _fail(f"{path}.label", _shown(label), f"printable text, <= {LABEL_MAX} characters")
    return DeviceConfig(mode=mode, label=label)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of an allocation's configuration; a higher rank beats a lower one."""

    rank: int
    requests: frozenset[str]
    config: DeviceConfig

    @property
    def is_of_class(self) -> bool:
        """True if it comes from the claim's DeviceClass."""
        return self.rank == _SOURCES.index("FromClass")

    def covers(self, request: str) -> bool:
        """True if the entry is for this request of the claim."""
        main = request.partition("/")[0]
        return not self.requests or request in self.requests or main in self.requests


class Configs:
    """The entries of one allocation that are ours, in order of precedence."""

    def __init__(self, allocation: dict[str, Any], driver: str, requests: set[str]) -> None:
        """Decode ``allocation.devices.config`` of ``driver`` for the given result requests.

        Entries of other drivers and entries for requests without a result of ours are not read.
        """
        self.entries: list[Entry] = []
        entries = (allocation.get("devices") or {}).get("config") or []
        for n, entry in enumerate(entries):
            opaque = entry.get("opaque") or {}
            if not self.is_own(opaque, driver):
                continue
            made = Entry(
                rank=_rank(entry.get("source"), n),
                requests=frozenset(entry.get("requests") or []),
                config=PLAIN,
            )
            if any(made.covers(request) for request in requests):
                path = f"status.allocation.devices.config[{n}].opaque.parameters"
                config = self.decode(opaque.get("parameters"), path)
                self.entries.append(dataclasses.replace(made, config=config))
        self.entries.sort(key=lambda made: made.rank)

    def is_own(self, opaque: dict[str, Any], driver: str) -> bool:
        """True for an entry that is for this driver."""
        return bool(opaque.get("driver") == driver)

    def decode(self, parameters: Any, path: str) -> DeviceConfig:
        """Read the parameters of one entry; ConfigError if they are bad."""
        return decode(parameters, path)

    def of(self, request: str) -> DeviceConfig:
        """What is in force for a result of ``request``: claim beats class, later beats earlier."""
        chosen = PLAIN
        for entry in self.entries:
            if entry.covers(request):
                chosen = entry.config
        return chosen


def _rank(source: Any, index: int) -> int:
    if source not in _SOURCES:
        raise _fail(
            f"status.allocation.devices.config[{index}].source", _shown(source), str(_SOURCES)
        )
    return _SOURCES.index(source)

"""The devices that this driver has: read from YAML, with errors that name file, line and column.

Format: ``pools`` is a list of {name, devices, devicesPerSlice}; an entry of ``devices`` makes
``count`` devices (default 1) and otherwise has the fields of a device in a ResourceSlice. In any
text ``{node}``, ``{short-node}`` (its first 16 characters) and ``{index}`` are filled in.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.fake_driver import names
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.features import FEATURES
from pytest_dra.fake_driver.options import DEVICES_MAX
from pytest_dra.fake_driver.options import Options

FILE_MAX: Final = 1 << 20
"""Bytes of an inventory file that are read; 4096 devices fit in easily."""

NODES_MAX: Final = 50_000
"""YAML nodes that are built, so that a file of nested aliases cannot grow without end."""

DEVICES_PER_SLICE: Final = 128
"""Devices of one slice, the API's limit for plain devices."""

SHORT_NODE: Final = 16
"""Characters of ``{short-node}``: attribute strings have at most 64 bytes."""

DEVICE_FIELDS: Final = frozenset(
    {
        "attributes",
        "capacity",
        "consumesCounters",
        "taints",
        "bindsToNode",
        "bindingConditions",
        "bindingFailureConditions",
        "allowMultipleAllocations",
        "nodeAllocatableResources",
    }
)
"""Fields of a device in a ResourceSlice of resource.k8s.io/v1 that an entry may carry."""

_GROUP_FIELDS = DEVICE_FIELDS | {"name", "count"}
_POOL_FIELDS = frozenset({"name", "devices", "devicesPerSlice"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A pool and its devices, each as it stands in ``spec.devices`` of a slice.

    ``counters`` are its counter sets, ``fields`` what its slices with devices have besides.
    """

    name: str
    devices: tuple[dict[str, Any], ...]
    devices_per_slice: int = DEVICES_PER_SLICE
    counters: tuple[dict[str, Any], ...] = ()
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """All pools of this node."""

    pools: tuple[Pool, ...]

    def has(self, pool: str, device: str) -> bool:
        """True if the driver has this device."""
        return self.find(pool, device) is not None

    def find(self, pool: str, device: str) -> tuple[Pool, dict[str, Any]] | None:
        """The device and its pool; None if there is none of these names."""
        for candidate in self.pools:
            for entry in candidate.devices if candidate.name == pool else ():
                if entry["name"] == device:
                    return candidate, entry
        return None

    def without_first(self) -> Inventory:
        """The same without the first device."""
        for n, pool in enumerate(self.pools):
            if pool.devices:
                rest = dataclasses.replace(pool, devices=pool.devices[1:])
                return Inventory((*self.pools[:n], rest, *self.pools[n + 1 :]))
        return self

    def devices(self) -> list[tuple[str, str]]:
        """All (pool, device) pairs, in order of publication."""
        return [(pool.name, device["name"]) for pool in self.pools for device in pool.devices]


class Inventories:
    """Where the inventory comes from: the file of ``--inventory``, else the bundled one."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def load(self) -> Inventory:
        """Read and check the inventory, and add what ``--features`` wants.

        Raises:
            StartError: it is not usable.
        """
        if self.options.inventory is None:
            bundled = importlib.resources.files("pytest_dra.fake_driver") / "inventory.yaml"
            text, file = bundled.read_text("utf-8"), "inventory.yaml"
        else:
            text, file = _read(self.options.inventory), str(self.options.inventory)
        read = parse(text, file, self.options.node_name, devices=self.options.devices)
        return Inventory((*read.pools, *self.further())) if self.options.devices is None else read

    def further(self) -> list[Pool]:
        """A pool for each feature; an inventory that is made up by number has none."""
        node, driver = self.options.node_name, self.options.driver_name
        return [
            Pool(name=f"{node}-{name}", **FEATURES[name](driver))
            for name in self.options.features
            if name in FEATURES
        ]


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_MAX + 1)
        if len(data) > FILE_MAX:
            raise StartError(f"{path}: more than {FILE_MAX} bytes; split the inventory")
        return data.decode("utf-8")
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}; mend --inventory") from error
    except UnicodeDecodeError as error:
        raise StartError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from error


def parse(text: str, file: str, node_name: str, *, devices: int | None = None) -> Inventory:
    """Build the inventory of ``node_name`` from YAML text; ``file`` is for messages only.

    ``devices`` makes it one pool with that many devices, all like the first ones of the file.
    """
    return _Reader(file, node_name, devices).read(text)


class _Reader:
    """One reading of one file: values, and where each of them stands."""

    def __init__(self, file: str, node_name: str, devices: int | None) -> None:
        self.file = file
        self.node_name = node_name
        self.devices = devices
        self.marks: dict[str, Any] = {}
        self.keys: dict[str, Any] = {}
        self.built = 0
        self.scalars = yaml.constructor.SafeConstructor()

    def read(self, text: str) -> Inventory:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            root = yaml.compose(text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            raise StartError(
                f"{self.file}:{line}:{column}: no YAML: {error.problem}; mend the inventory"
            ) from error
        except yaml.YAMLError as error:
            raise StartError(f"{self.file}: no YAML: {error}; mend the inventory") from error
        value = self.build(root, "inventory")
        self.want(value, dict, "inventory", "a mapping with `pools`")
        self.only(value, frozenset({"pools"}), "inventory")
        pools = value.get("pools")
        self.want(pools, list, "inventory.pools", "a list of pools")
        if self.devices is not None and pools:
            pools = [self.resized(pools[0], self.devices)]
        inventory = Inventory(
            tuple(self.pool(pool, f"inventory.pools[{n}]") for n, pool in enumerate(pools))
        )
        if len(inventory.devices()) > DEVICES_MAX:
            self.fail("inventory.pools", f"{len(inventory.devices())} devices", f"<= {DEVICES_MAX}")
        return inventory

    def build(self, node: Any, path: str) -> Any:
        """Turn YAML nodes into plain values and note where each stands."""
        if node is None:
            return None
        self.marks[path] = node.start_mark
        self.built += 1
        if self.built > NODES_MAX:
            self.fail(path, f"more than {NODES_MAX} YAML nodes", "fewer; do not nest aliases")
        if isinstance(node, yaml.MappingNode):
            made: dict[str, Any] = {}
            for key, child in node.value:
                name = str(key.value)
                if name in made:
                    self.marks[f"{path}.{name}"] = key.start_mark
                    self.fail(f"{path}.{name}", "given twice", "one value")
                made[name] = self.build(child, f"{path}.{name}")
                self.keys[f"{path}.{name}"] = key.start_mark
            return made
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, f"{path}[{n}]") for n, child in enumerate(node.value)]
        try:
            return self.scalars.construct_object(node)
        except (yaml.YAMLError, ValueError):
            return self.fail(path, repr(node.value), "a plain value; quote it")

    def fail(self, path: str, got: str, want: str) -> Any:
        """Raise the StartError for the value at ``path``."""
        mark = self.marks.get(path) or self.marks.get(path.rpartition(".")[0])
        where = f"{self.file}:{mark.line + 1}:{mark.column + 1}" if mark else self.file
        raise StartError(f"{where}: {path} is {got}; want {want}")

    def want(self, value: Any, kind: type, path: str, text: str) -> None:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(path, "missing" if value is None else repr(value), text)

    def only(self, value: dict[str, Any], known: frozenset[str], path: str) -> None:
        for key in value:
            if key not in known:
                self.marks[f"{path}.{key}"] = self.keys[f"{path}.{key}"]
                self.fail(f"{path}.{key}", "no known field", "one of " + ", ".join(sorted(known)))

    def resized(self, pool: Any, devices: int) -> Any:
        """A pool with ``devices`` devices of its first group."""
        groups = pool.get("devices") if isinstance(pool, dict) else None
        if not isinstance(groups, list) or not isinstance(next(iter(groups), None), dict):
            return pool
        return {**pool, "devices": [{**groups[0], "count": devices}]}

    def pool(self, value: Any, path: str) -> Pool:
        self.want(value, dict, path, "a pool with `name` and `devices`")
        self.only(value, _POOL_FIELDS, path)
        self.want(value.get("name"), str, f"{path}.name", "a pool name")
        name = self.fill(value["name"], 0)
        if not names.is_pool(name):
            self.fail(f"{path}.name", repr(name), "DNS subdomains joined by `/`")
        groups = value.get("devices")
        self.want(groups, list, f"{path}.devices", "a list of devices")
        per_slice = value.get("devicesPerSlice", DEVICES_PER_SLICE)
        self.want(per_slice, int, f"{path}.devicesPerSlice", "a number")
        if not 1 <= per_slice <= DEVICES_PER_SLICE:
            self.fail(f"{path}.devicesPerSlice", str(per_slice), f"1 to {DEVICES_PER_SLICE}")
        devices: dict[str, dict[str, Any]] = {}
        for n, group in enumerate(groups):
            for device in self.group(group, f"{path}.devices[{n}]"):
                if device["name"] in devices:
                    self.fail(f"{path}.devices[{n}].name", f"{device['name']!r} again", "unique")
                devices[device["name"]] = device
        return Pool(name=name, devices=tuple(devices.values()), devices_per_slice=per_slice)

    def group(self, value: Any, path: str) -> list[dict[str, Any]]:
        self.want(value, dict, path, "a device with `name`")
        self.only(value, _GROUP_FIELDS, path)
        self.want(value.get("name"), str, f"{path}.name", "a device name, `{index}` allowed")
        count = value.get("count", 1)
        self.want(count, int, f"{path}.count", "a number")
        if not 0 <= count <= DEVICES_MAX:
            self.fail(f"{path}.count", str(count), f"0 to {DEVICES_MAX}")
        made = []
        for index in range(count):
            device = {
                key: self.fill_all(field, index) for key, field in value.items() if key != "count"
            }
            if not names.is_label(device["name"]):
                self.fail(f"{path}.name", repr(device["name"]), "a DNS label")
            for key in ("attributes", "capacity"):
                self.want(device.get(key, {}), dict, f"{path}.{key}", "a mapping")
            made.append(device)
        return made

    def fill(self, text: str, index: int) -> str:
        text = text.replace("{index}", str(index)).replace("{node}", self.node_name)
        return text.replace("{short-node}", self.node_name[:SHORT_NODE])

    def fill_all(self, value: Any, index: int) -> Any:
        if isinstance(value, str):
            return self.fill(value, index)
        if isinstance(value, list):
            return [self.fill_all(item, index) for item in value]
        if isinstance(value, dict):
            made = {key: self.fill_all(item, index) for key, item in value.items()}
            if set(made) == {"int"} and isinstance(made["int"], str) and made["int"].isdecimal():
                made["int"] = int(made["int"])
            return made
        return value

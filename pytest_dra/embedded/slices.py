"""ResourceSlices: defaults, gated fields, and every rule that kube-apiserver checks."""

from __future__ import annotations

import functools
from typing import Any
from typing import ClassVar
from typing import Final

from pytest_dra.api import names
from pytest_dra.api.versions import Limits
from pytest_dra.embedded import alpharules
from pytest_dra.embedded import byhand
from pytest_dra.embedded import devicerules
from pytest_dra.embedded import nodeselectors
from pytest_dra.embedded import requestpolicy
from pytest_dra.embedded.gates import drop_slice_fields
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.strategy import Context
from pytest_dra.embedded.strategy import Strategy
from pytest_dra.spec import Json

_SELECTIONS: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_DEVICE_SELECTIONS: Final = ("nodeName", "nodeSelector", "allNodes")
_VALUES: Final = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_LISTS: Final = ("ints", "bools", "strings", "versions")
_IMMUTABLE: Final = ("driver", "nodeName")


class ResourceSlices(Strategy):
    """Slices of devices, published by drivers."""

    generation: ClassVar[bool] = True

    def default(self, obj: Json) -> None:
        """A taint without a time gets the present."""
        for device in obj["spec"].get("devices") or []:
            for taint in device.get("taints") or []:
                taint.setdefault("timeAdded", now())

    def drop_gated(self, new: Json, old: Json | None, ctx: Context) -> None:
        """Fields of features that are off go silently, unless the old slice uses them."""
        drop_slice_fields(new["spec"], old["spec"] if old else None, ctx.version)

    def validate_create(self, obj: Json, ctx: Context, report: Report) -> None:
        """All rules of ``spec``."""
        self._validate(obj, None, ctx, report)

    def validate_update(self, new: Json, old: Json, ctx: Context, report: Report) -> None:
        """The same; driver, pool and node are fixed for the life of a slice."""
        self._validate(new, old, ctx, report)
        spec, before = new["spec"], old["spec"]
        for name in _IMMUTABLE:
            if spec.get(name) != before.get(name):
                report.invalid(f"spec.{name}", spec.get(name), "field is immutable")
        if spec["pool"]["name"] != before["pool"]["name"]:
            report.invalid("spec.pool.name", spec["pool"]["name"], "field is immutable")

    def _validate(self, obj: Json, old: Json | None, ctx: Context, report: Report) -> None:
        spec = obj["spec"]
        devicerules.driver(spec["driver"], "spec.driver", report)
        _validate_pool(spec["pool"], report)
        _validate_selection(spec, report)
        limits = ctx.version.limits
        both = "devices" in spec and "sharedCounters" in spec
        if both and not limits.devices_with_counter_sets:
            report.invalid("spec", "", "exactly one of `sharedCounters`, `devices` is allowed")
        _validate_counter_sets(spec.get("sharedCounters") or [], limits, report)
        before = {
            device["name"]: device
            for device in ((old or {}).get("spec") or {}).get("devices") or []
        }
        _Devices(spec, before, ctx, report).validate()
        alpharules.partition_type(spec, report)
        operations = spec.get("skipNodeOperations") or []
        alpharules.node_operations(operations, "spec.skipNodeOperations", report)

    def admit_valid(self, obj: Json, ctx: Context) -> None:
        """A node declares that it can account for what its devices use of it."""
        alpharules.admit_node_allocatable(obj, ctx)

    def warnings(self, obj: Json) -> list[str]:
        """Upper case in a driver name is accepted, but warned about."""
        driver = obj["spec"]["driver"]
        if driver != driver.lower():
            return [f"spec.driver: {driver!r} should be lower case"]
        return []


def _validate_pool(pool: Json, report: Report) -> None:
    devicerules.pool(pool["name"], "spec.pool.name", report)
    if pool["generation"] < 0:
        report.invalid(
            "spec.pool.generation", pool["generation"], "must be greater than or equal to 0"
        )
    if pool["resourceSliceCount"] <= 0:
        report.invalid(
            "spec.pool.resourceSliceCount", pool["resourceSliceCount"], "must be greater than 0"
        )


def _validate_selection(spec: Json, report: Report) -> None:
    chosen = 0
    if "nodeName" in spec:
        if spec["nodeName"]:
            chosen += 1
            error = names.node_name_error(spec["nodeName"])
            report.format("spec.nodeName", spec["nodeName"], error)
        else:
            report.invalid("spec.nodeName", "", "must be either unset or set to a non-empty string")
    if "nodeSelector" in spec:
        chosen += 1
        nodeselectors.validate(spec["nodeSelector"], "spec.nodeSelector", report)
        terms = spec["nodeSelector"].get("nodeSelectorTerms") or []
        if len(terms) != 1:
            report.invalid(
                "spec.nodeSelector.nodeSelectorTerms", terms, "must have exactly one term"
            )
    for name in ("allNodes", "perDeviceNodeSelection"):
        if name in spec:
            if spec[name]:
                chosen += 1
            else:
                report.invalid(f"spec.{name}", False, "must be either unset or set to true")
    if not chosen:
        report.required("spec", f"exactly one of {', '.join(_SELECTIONS)} is required")
    elif chosen > 1:
        report.invalid("spec", "", f"exactly one of {', '.join(_SELECTIONS)} is required")


def _validate_counter_sets(sets: list[Json], limits: Limits, report: Report) -> None:
    path = "spec.sharedCounters"
    if limits.counter_sets is not None and len(sets) > limits.counter_sets:
        report.too_many(path, len(sets), limits.counter_sets)
        return
    total = sum(len(found.get("counters") or {}) for found in sets)
    if limits.counters_in_slice is not None and total > limits.counters_in_slice:
        report.invalid(path, total, f"at most {limits.counters_in_slice} counters in a slice")
    seen: set[str] = set()
    for index, found in enumerate(sets):
        where = f"{path}[{index}]"
        _validate_name_of_set(found["name"], f"{where}.name", report)
        if found["name"] in seen:
            report.duplicate(where, found["name"])
        seen.add(found["name"])
        _validate_counters(found.get("counters"), f"{where}.counters", limits, report)


def _validate_name_of_set(name: str, path: str, report: Report) -> None:
    if not name:
        report.required(path)
    else:
        report.format(path, name, names.dns_label_error(name))


def _validate_counters(counters: Json | None, path: str, limits: Limits, report: Report) -> None:
    if not counters:
        report.required(path)
        return
    if limits.counters is not None and len(counters) > limits.counters:
        report.too_many(path, len(counters), limits.counters)
        return
    for name in counters:
        report.format(path, name, names.dns_label_error(name))


class _Devices:
    """The rules of ``spec.devices``. ``before`` are the devices of the old slice by name."""

    def __init__(self, spec: Json, before: Json, ctx: Context, report: Report) -> None:
        self._spec = spec
        self._before = before
        self._limits = ctx.version.limits
        self._minor = ctx.version.minor
        self._by_hand = self._minor < byhand.DECLARED_SINCE
        self._fractional = ctx.version.enabled(requestpolicy.FRACTIONAL)
        self._report = report

    def validate(self) -> None:
        """All devices; if there are too many, nothing else is said."""
        devices: list[Json] = self._spec.get("devices") or []
        limit = self._limit(devices)
        if len(devices) > limit:
            self._report.too_many("spec.devices", len(devices), limit)
            return
        seen: set[str] = set()
        per_device = self._spec.get("perDeviceNodeSelection") is True
        for index, device in enumerate(devices):
            path = f"spec.devices[{index}]"
            name = device["name"]
            if name in seen:
                self._report.duplicate(path, name)
            seen.add(name)
            error = names.dns_label_error(name)
            if error:
                self._report.invalid(f"{path}.name", name, error)
            self._device(device, path)
            self._selection(device, path, wanted=per_device)
        total = self._consumed(devices)
        most = self._limits.consumed_in_slice
        if most is not None and total > most:
            self._report.invalid("spec.devices", total, f"at most {most} consumed counters")

    def _limit(self, devices: list[Json]) -> int:
        special = self._limits.devices_special
        if special is None or len(devices) <= special:
            return self._limits.devices
        for device in devices:
            if device.get("taints") or device.get("consumesCounters"):
                return special
            if self._limits.lists_are_special and any(
                name in value
                for value in (device.get("attributes") or {}).values()
                for name in _LISTS
            ):
                return special
        return self._limits.devices

    @staticmethod
    def _consumed(devices: list[Json]) -> int:
        return sum(
            len(entry.get("counters") or {})
            for device in devices
            for entry in device.get("consumesCounters") or []
        )

    def _device(self, device: Json, path: str) -> None:
        attributes = device.get("attributes") or {}
        capacity = device.get("capacity") or {}
        limits, report = self._limits, self._report
        if len(attributes) + len(capacity) > limits.entries_in_device:
            report.invalid(
                path,
                len(attributes) + len(capacity),
                f"the total number of attributes and capacities must not exceed "
                f"{limits.entries_in_device}",
            )
        values = 0
        for name, value in attributes.items():
            values += self._attribute(name, value, f"{path}.attributes")
        if limits.values_in_device is not None and values > limits.values_in_device:
            report.invalid(
                path,
                values,
                f"the total number of attribute values must not exceed {limits.values_in_device}",
            )
        if capacity:
            self._capacity(device, capacity, path)
        if device.get("consumesCounters"):
            self._consumptions(device["consumesCounters"], f"{path}.consumesCounters")
        if "nodeAllocatableResources" in device:
            alpharules.node_allocatable(device, path, report)
        taints = device.get("taints") or []
        if taints:
            self._taints(device, taints, f"{path}.taints")
        if "bindingConditions" in device or "bindingFailureConditions" in device:
            devicerules.binding_conditions(device, path, limits, report)

    def _capacity(self, device: Json, capacity: Json, path: str) -> None:
        if capacity == (self._before.get(device["name"]) or {}).get("capacity"):
            return
        shared = device.get("allowMultipleAllocations") is True
        for name, value in capacity.items():
            if _name_error(name):
                self._name(name, f"{path}.capacity")
            if value.get("requestPolicy") is not None:
                where = f"{path}.capacity[{name}].requestPolicy"
                requestpolicy.validate(value, where, self._report, shared=shared)
                if self._fractional:
                    requestpolicy.fractions(value["requestPolicy"], where, self._report)

    def _taints(self, device: Json, taints: list[Json], path: str) -> None:
        if len(taints) > self._limits.taints:
            self._report.too_many(path, len(taints), self._limits.taints)
            return
        old = (self._before.get(device["name"]) or {}).get("taints") or []
        effects = devicerules.effects_of(self._minor)
        for index, taint in enumerate(taints):
            if taint not in old:
                devicerules.taint(taint, f"{path}[{index}]", self._report, effects=effects)

    def _attribute(self, name: str, value: Json, path: str) -> int:
        report = self._report
        if _name_error(name):
            self._name(name, path)
        given = list(value)
        where = f"{path}[{name}]"
        if not given and self._by_hand:
            report.required(where, f"one of {', '.join(_VALUES)} must be specified")
            return 0
        if len(given) != 1:
            report.invalid(where, value, f"exactly one of {', '.join(_VALUES)} must be specified")
            return 0
        kind = given[0]
        content: Any = value[kind]
        if kind in _LISTS:
            if not content:
                report.invalid(
                    where, value, f"exactly one of {', '.join(_VALUES)} must be specified"
                )
                report.invalid(f"{where}.{kind}", content, "must not be empty")
            for index, item in enumerate(content):
                self._scalar(kind[:-1], item, f"{where}.{kind}[{index}]")
            return len(content)
        self._scalar(kind, content, f"{where}.{kind}")
        return 1

    def _name(self, name: str, path: str) -> None:
        if not self._by_hand:
            devicerules.qualified_name(name, path, self._report)
        elif not name or name.endswith("/"):
            self._report.required(f"{path}[{name}]", "name required")
        else:
            devicerules.qualified_name(name, f"{path}[{name}]", self._report)

    def _scalar(self, kind: str, value: Any, path: str) -> None:
        if kind not in ("string", "version"):
            return
        if kind == "version":
            self._report.format(path, value, names.semver_error(value))
        limit = self._limits.value_bytes
        if len(value) > limit or (not value.isascii() and len(value.encode()) > limit):
            self._report.too_long(path, limit)

    def _consumptions(self, entries: list[Json], path: str) -> None:
        limits, report = self._limits, self._report
        if limits.consumptions is not None and len(entries) > limits.consumptions:
            report.too_many(path, len(entries), limits.consumptions)
            return
        seen: set[str] = set()
        for index, entry in enumerate(entries):
            where, name = f"{path}[{index}]", entry["counterSet"]
            _validate_name_of_set(name, f"{where}.counterSet", report)
            if name in seen:
                report.duplicate(where, name)
            seen.add(name)
            _validate_counters(entry.get("counters"), f"{where}.counters", limits, report)
            groups = entry.get("compatibilityGroups") or []
            alpharules.compatibility_groups(groups, f"{where}.compatibilityGroups", report)

    def _selection(self, device: Json, path: str, *, wanted: bool) -> None:
        given = [name for name in _DEVICE_SELECTIONS if name in device]
        report = self._report
        if not wanted:
            if given:
                why = f"{', '.join(given)} only with `perDeviceNodeSelection` in the slice"
                report.invalid(path, None, why)
            return
        chosen = 0
        if "nodeName" in device:
            if device["nodeName"]:
                chosen += 1
                error = names.node_name_error(device["nodeName"])
                report.format(f"{path}.nodeName", device["nodeName"], error)
            else:
                report.invalid(f"{path}.nodeName", "", "must not be empty")
        if "nodeSelector" in device:
            chosen += 1
            nodeselectors.validate(device["nodeSelector"], f"{path}.nodeSelector", report)
        if "allNodes" in device:
            if device["allNodes"]:
                chosen += 1
            else:
                report.invalid(f"{path}.allNodes", False, "must be either unset or set to true")
        if not chosen:
            report.required(path, f"exactly one of {', '.join(_DEVICE_SELECTIONS)} is required")
        elif chosen > 1:
            report.invalid(path, "", f"exactly one of {', '.join(_DEVICE_SELECTIONS)} is allowed")


@functools.lru_cache(maxsize=4096)
def _name_error(name: str) -> str:
    """Quick check before the thorough one, which tells several causes apart."""
    return names.qualified_name_error(name)

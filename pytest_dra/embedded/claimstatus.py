"""Rules of a claim's status: allocation, reservations, device status."""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from typing import Final

from pytest_dra.api import names
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import alpharules
from pytest_dra.embedded import byhand
from pytest_dra.embedded import claimspec
from pytest_dra.embedded import devicerules
from pytest_dra.embedded import nodeselectors
from pytest_dra.embedded.claimspec import listed
from pytest_dra.embedded.report import Report
from pytest_dra.spec import Json

_SOURCES: Final = ("FromClaim", "FromClass")
_STATUSES: Final = ("False", "True", "Unknown")

_INTERFACE_BYTES: Final = 256
_HARDWARE_BYTES: Final = 128
_REASON_BYTES: Final = 1024
_MESSAGE_BYTES: Final = 32768

_REASON: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")

Identity = tuple[str, str, str, str]
"""Driver, pool, device, share id of an allocated device."""


def identity(part: Json) -> Identity:
    """What an allocation result and a device status have in common."""
    return part["driver"], part["pool"], part["device"], part.get("shareID") or ""


def allocated(status: Json) -> set[Identity]:
    """The devices of the allocation."""
    allocation = status.get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or []
    return {identity(result) for result in results}


class StatusRules:
    """The rules of one status write."""

    def __init__(self, claim: Json, old: Json, version: KubernetesVersion, report: Report) -> None:
        self._status = claim["status"]
        self._old = old["status"]
        self._deleting = "deletionTimestamp" in claim["metadata"]
        self._limits = version.limits
        self._judges_tolerations = version.minor >= byhand.DECLARED_SINCE
        self._report = report
        self._known = claimspec.request_names(claim["spec"])

    def validate(self) -> None:
        """All of them."""
        status, report = self._status, self._report
        reserved = status.get("reservedFor") or []
        listed(
            reserved,
            "status.reservedFor",
            self._limits.reserved_for,
            self._consumer,
            lambda entry: entry["uid"],
            report,
        )
        devices = allocated(status)
        listed(
            status.get("devices") or [],
            "status.devices",
            -1,
            lambda entry, path: self._device(entry, path, devices),
            identity,
            report,
        )
        if reserved:
            self._reservation(reserved)
        allocation, before = status.get("allocation"), self._old.get("allocation")
        if allocation is not None and before is not None:
            if allocation != before:
                report.invalid("status.allocation", "", "field is immutable")
        elif allocation is not None:
            self._allocation(allocation)

    def _consumer(self, entry: Json, path: str) -> None:
        for name in ("resource", "name", "uid"):
            if not entry[name]:
                self._report.required(f"{path}.{name}")

    def _reservation(self, reserved: list[Json]) -> None:
        if self._status.get("allocation") is None:
            self._report.forbidden("status.reservedFor", "may not be set without allocation")
        elif self._deleting:
            before = self._old.get("reservedFor") or []
            if any(entry not in before for entry in reserved):
                self._report.forbidden(
                    "status.reservedFor", "no new entries while the claim is being deleted"
                )

    def _allocation(self, allocation: Json) -> None:
        path, devices = "status.allocation", allocation.get("devices") or {}
        listed(
            devices.get("results") or [],
            f"{path}.devices.results",
            self._limits.results,
            self._result,
            None,
            self._report,
        )
        listed(
            devices.get("config") or [],
            f"{path}.devices.config",
            self._limits.result_config,
            self._config,
            None,
            self._report,
        )
        if allocation.get("nodeSelector") is not None:
            nodeselectors.validate(allocation["nodeSelector"], f"{path}.nodeSelector", self._report)

    def _result(self, result: Json, path: str) -> None:
        report = self._report
        claimspec.reference(result["request"], f"{path}.request", self._known, report)
        devicerules.driver(result["driver"], f"{path}.driver", report)
        devicerules.pool(result["pool"], f"{path}.pool", report)
        device = result["device"]
        report.format(f"{path}.device", device, names.dns_label_error(device))
        devicerules.binding_conditions(result, path, self._limits, report)
        operations = result.get("skipNodeOperations") or []
        alpharules.node_operations(operations, f"{path}.skipNodeOperations", report)
        tolerations = result.get("tolerations") or []
        for index, toleration in enumerate(tolerations if self._judges_tolerations else []):
            devicerules.toleration(toleration, f"{path}.tolerations[{index}]", report)
        self._share(result, path)

    def _share(self, part: Json, path: str) -> None:
        share = part.get("shareID")
        if share is not None:
            self._report.format(f"{path}.shareID", share, names.uid_error(share))

    def _config(self, config: Json, path: str) -> None:
        source = config["source"]
        if not source:
            self._report.required(f"{path}.source")
        elif source not in _SOURCES:
            self._report.not_supported(f"{path}.source", source, _SOURCES)
        claimspec.references(config, path, self._limits.requests, self._known, self._report)
        claimspec.validate_opaque(config, path, self._limits, self._report)

    def _device(self, entry: Json, path: str, devices: set[Identity]) -> None:
        report = self._report
        devicerules.driver(entry["driver"], f"{path}.driver", report)
        devicerules.pool(entry["pool"], f"{path}.pool", report)
        report.format(f"{path}.device", entry["device"], names.dns_label_error(entry["device"]))
        self._share(entry, path)
        if identity(entry) not in devices:
            report.invalid(path, identity(entry), "must be an allocated device in the claim")
        conditions = entry.get("conditions") or []
        if len(conditions) > self._limits.status_conditions:
            report.too_many(f"{path}.conditions", len(conditions), self._limits.status_conditions)
        validate_conditions(conditions, f"{path}.conditions", report)
        if entry.get("data") is not None:
            devicerules.opaque_json(
                entry["data"], f"{path}.data", self._limits.parameters_bytes, report
            )
        self._network(entry.get("networkData") or {}, f"{path}.networkData")

    def _network(self, data: Json, path: str) -> None:
        report = self._report
        for name, limit in (
            ("interfaceName", _INTERFACE_BYTES),
            ("hardwareAddress", _HARDWARE_BYTES),
        ):
            if len(data.get(name, "").encode()) > limit:
                report.too_long(f"{path}.{name}", limit)
        listed(
            data.get("ips") or [],
            f"{path}.ips",
            self._limits.status_ips,
            lambda text, where: report.format(where, text, address_error(text)),
            lambda text: text,
            report,
        )


def address_error(text: str) -> str:
    """An interface address: IP with prefix length, in canonical form."""
    try:
        found: Any = ipaddress.ip_interface(text)
    except ValueError:
        return "must be a valid address in CIDR form, such as 10.9.8.7/24"
    if "/" not in text or text != found.with_prefixlen:
        return f"must be in canonical form ({found.with_prefixlen})"
    return ""


def validate_conditions(conditions: list[Json], path: str, report: Report) -> None:
    """The rules of metav1.Condition."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        where, kind = f"{path}[{index}]", condition["type"]
        if kind in seen:
            report.duplicate(where, kind)
        seen.add(kind)
        if not kind:
            report.required(f"{where}.type")
        else:
            report.format(f"{where}.type", kind, names.label_key_error(kind))
        status = condition["status"]
        if not status:
            report.required(f"{where}.status")
        elif status not in _STATUSES:
            report.not_supported(f"{where}.status", status, _STATUSES)
        if condition.get("observedGeneration", 0) < 0:
            report.invalid(
                f"{where}.observedGeneration", condition["observedGeneration"], "must be >= 0"
            )
        if not condition.get("lastTransitionTime"):
            report.required(f"{where}.lastTransitionTime")
        _validate_texts(condition, where, report)


def _validate_texts(condition: Json, path: str, report: Report) -> None:
    reason = condition["reason"]
    if not reason:
        report.required(f"{path}.reason")
    else:
        if len(reason.encode()) > _REASON_BYTES:
            report.too_long(f"{path}.reason", _REASON_BYTES)
        if _REASON.fullmatch(reason) is None:
            report.invalid(f"{path}.reason", reason, "must be letters, digits, '_', ',' or ':'")
    if len(condition["message"].encode()) > _MESSAGE_BYTES:
        report.too_long(f"{path}.message", _MESSAGE_BYTES)

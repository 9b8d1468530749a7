"""Rules of fields that are alpha in 1.37: partition types, node operations, node allocatable."""

from __future__ import annotations

from typing import Final

from pytest_dra.api import names
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded import devicerules
from pytest_dra.embedded import errors
from pytest_dra.embedded import expressions
from pytest_dra.embedded.report import Report
from pytest_dra.embedded.strategy import Context
from pytest_dra.spec import Json

OPERATIONS: Final = ("*", "NodePrepareResources", "NodeUnprepareResources")
"""What ``skipNodeOperations`` may hold."""

NODE_FEATURE: Final = "DRANodeAllocatableResources"
"""Gate, and the feature that a Node declares."""

DERIVED_MAX: Final = 32
"""Derived attributes of one request."""

GROUPS_MAX: Final = 2
"""Compatibility groups of one counter consumption."""

_ALLOCATABLE: Final = ("cpu", "memory")
_PAGES: Final = "hugepages-"
"""What a node allocates (1.37.2: no ephemeral-storage), and how its further kinds begin."""


def partition_type(spec: Json, report: Report) -> None:
    """``partitionTypeAttribute``: who consumes counters has that attribute, and somebody does."""
    name = spec.get("partitionTypeAttribute")
    if name is None:
        return
    path = "spec.partitionTypeAttribute"
    before = len(report.causes)
    devicerules.qualified_name(name, path, report, domain_required=True)
    if "/" not in name:
        report.format(path, name, names.c_identifier_error(name))
    broken = len(report.causes) > before
    domain, _, plain = name.partition("/")
    wanted = {name, plain} if domain == spec["driver"] else {name}
    consumers = 0
    for index, device in enumerate(spec.get("devices") or []):
        if not device.get("consumesCounters"):
            continue
        consumers += 1
        if not broken and wanted.isdisjoint(device.get("attributes") or {}):
            report.required(f"spec.devices[{index}].attributes[{name}]")
    if not consumers:
        report.invalid(path, name, "needs a device that consumes counters")


def compatibility_groups(groups: list[str], path: str, report: Report) -> None:
    """Groups of a counter consumption: a few unique labels."""
    if len(groups) > GROUPS_MAX:
        report.too_many(path, len(groups), GROUPS_MAX)
        return
    seen: set[str] = set()
    for index, name in enumerate(groups):
        where = f"{path}[{index}]"
        report.format(where, name, names.dns_label_error(name))
        if name in seen:
            report.duplicate(where, name)
        seen.add(name)


def node_operations(found: list[str], path: str, report: Report) -> None:
    """``skipNodeOperations``: known, unique, and Prepare never without Unprepare."""
    seen: set[str] = set()
    for index, name in enumerate(found):
        where = f"{path}[{index}]"
        if name in seen:
            report.duplicate(where, name)
        if name not in OPERATIONS:
            report.not_supported(where, name, OPERATIONS)
        seen.add(name)
    if "NodePrepareResources" in seen and seen.isdisjoint(("NodeUnprepareResources", "*")):
        report.invalid(path, found, "NodePrepareResources needs NodeUnprepareResources")


def node_allocatable(device: Json, path: str, report: Report) -> None:
    """``nodeAllocatableResources``: mappings and overheads by resource name."""
    for name, value in (device.get("nodeAllocatableResources") or {}).items():
        where = f"{path}.nodeAllocatableResources[{name}]"
        if name not in _ALLOCATABLE and not name.startswith(_PAGES):
            report.invalid(where, name, "must be a resource that a node allocates")
        if value.get("mapping") is None and value.get("overhead") is None:
            report.required(where, "at least one of mapping or overhead must be set")
        if value.get("mapping") is not None:
            capacity = device.get("capacity") or {}
            _mapping(value["mapping"], capacity, f"{where}.mapping", report)
        overhead = value.get("overhead")
        if overhead is not None and not overhead:
            report.invalid(f"{where}.overhead", overhead, "perPod or perContainer must be set")
        for part, amount in (overhead or {}).items():
            if amount.startswith("-"):
                report.invalid(f"{where}.overhead.{part}", amount, "must not be negative")


def _mapping(mapping: Json, capacity: Json, path: str, report: Report) -> None:
    key, factor = mapping.get("capacityKey"), mapping.get("capacityMultiplier")
    if (key is None) == (mapping.get("deviceMultiplier") is None):
        why = "exactly one of `capacityKey` and `deviceMultiplier` must be set"
        report.invalid(path, mapping, why)
    if key is None:
        if factor is not None:
            report.required(f"{path}.capacityKey", "goes with capacityMultiplier")
    elif key not in capacity:
        report.not_found(f"{path}.capacityKey", key)
    elif factor is None:
        report.required(f"{path}.capacityMultiplier", "goes with capacityKey")
    for name in ("capacityMultiplier", "deviceMultiplier"):
        # quantities are canonical here
        if name in mapping and (mapping[name] == "0" or mapping[name].startswith("-")):
            report.invalid(f"{path}.{name}", mapping[name], "must be greater than zero")


def admit_node_allocatable(obj: Json, ctx: Context) -> None:
    """The node of a slice that uses the feature has to declare it.

    Raises:
        ApiError: 403.
    """
    if not ctx.version.enabled(NODE_FEATURE):
        return
    spec = obj["spec"]
    if not any(device.get("nodeAllocatableResources") for device in spec.get("devices") or []):
        return
    node = ctx.store.get("core.Node", "", spec.get("nodeName", ""))
    declared = (node.object["status"].get("declaredFeatures") or []) if node else []
    if NODE_FEATURE not in declared:
        shown = {
            "name": obj["metadata"].get("name", ""),
            "group": "resource.k8s.io",
            "kind": "resourceslices",
        }
        why = f"node {spec.get('nodeName', '')!r} does not declare the feature {NODE_FEATURE}"
        raise errors.ApiError(403, "Forbidden", why, details=shown)


def derived_attributes(
    part: Json, path: str, constraints: list[Json], version: KubernetesVersion, report: Report
) -> None:
    """``derivedAttributes`` of a request: each is named by a constraint, and compiles."""
    found = part.get("derivedAttributes") or []
    if len(found) > DERIVED_MAX:
        report.too_many(path, len(found), DERIVED_MAX)
    used = {
        constraint.get(kind)
        for constraint in constraints
        for kind in ("matchAttribute", "distinctAttribute")
    }
    seen: set[str] = set()
    for index, entry in enumerate(found):
        where, name = f"{path}[{index}]", entry["name"]
        if name in seen:
            report.duplicate(where, name)
            continue
        seen.add(name)
        devicerules.qualified_name(name, f"{where}.name", report, domain_required=True)
        if name not in used:
            report.invalid(f"{where}.name", name, "must be used by a constraint of the claim")
        if not entry["expression"]:
            report.required(f"{where}.expression")
            continue
        expressions.derived(entry["expression"], f"{where}.expression", version, report)

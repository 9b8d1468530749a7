"""What a spec must look like to be loaded, checked in the library's order.

The first error counts and refuses the whole file. Source: CDI SPEC.md and recordings of the
library; where it does not check what SPEC.md says, neither does this module.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from pytest_dra.cdi.errors import CRASH
from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.errors import shown
from pytest_dra.cdi.library import Library
from pytest_dra.cdi.names import check_class
from pytest_dra.cdi.names import check_device_name
from pytest_dra.cdi.names import check_vendor
from pytest_dra.cdi.names import split_kind
from pytest_dra.spec import Json

_OLD_VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0")
VERSIONS = (*_OLD_VERSIONS, "1.0.0", "1.1.0")
"""Known values of cdiVersion, oldest first; one leading ``v`` is allowed."""

_CREATE_HOOKS = ("prestart", "createRuntime", "createContainer")
HOOK_NAMES = (*_CREATE_HOOKS, "startContainer", "poststart", "poststop")
"""The OCI hooks that a spec may add to."""

NODE_TYPES = ("", "b", "c", "u", "p")
"""Types of a device node: block, character, unbuffered character, FIFO, or the host's."""

NO_PERMISSIONS = "none"
"""Permissions that mean an empty cgroup rule, known from 1.1.1 on."""

MAXIMUM_CLOS_ID = 4096
"""Bytes that a closID must stay below: the length of a path on Linux."""

_LEAST_VERSION = "0.3.0"
_LAST_BLOCKS = 2
"""The last device and the global edits, which go last."""

_EDIT_FIELDS = ("env", "deviceNodes", "hooks", "mounts", "additionalGids", "netDevices")


def check_spec(spec: Json, *, library: Library) -> None:
    """Raise :class:`CdiError` for the first thing that refuses a decoded spec."""
    check_version(spec, library=library)
    vendor, cls = split_kind(spec.get("kind", ""))
    check_vendor(vendor, library=library)
    check_class(cls, library=library)
    check_edits(spec.get("containerEdits", {}), where="containerEdits", library=library)
    seen: set[str] = set()
    for device in spec.get("devices", []):
        name = device.get("name", "")
        check_device_name(name)
        edits = device.get("containerEdits", {})
        where = f"device {shown(name)}"
        if "intelRdt" not in edits and not any(edits.get(field) for field in _EDIT_FIELDS):
            raise CdiError(
                f"{where}: got no containerEdits, want at least one edit", reason="device-empty"
            )
        check_edits(edits, where=where, library=library)
        if name in seen:
            raise CdiError(f"{where}: defined twice in this file", reason="device-duplicate")
        seen.add(name)
    if not seen:
        raise CdiError("devices: got none, want at least one", reason="no-devices")


def check_version(spec: Json, *, library: Library) -> None:
    """Raise :class:`CdiError` unless cdiVersion is known and covers what the spec uses."""
    version = spec.get("cdiVersion", "")
    known = version.removeprefix("v")
    if known not in VERSIONS:
        raise CdiError(
            f"cdiVersion: got {shown(version)}, want one of {', '.join(VERSIONS)}",
            reason="version-unknown",
        )
    least = minimum_version(spec, library=library)
    if VERSIONS.index(known) < VERSIONS.index(least):
        raise CdiError(
            f"cdiVersion: got {shown(version)}, want at least {least} for the fields in use",
            reason="version-too-low",
        )


def minimum_version(spec: Json, *, library: Library) -> str:
    """The lowest cdiVersion that the library demands for what ``spec`` uses.

    Of the devices, host paths and mount types are only looked for in the last one: so does the
    library. Raises :class:`CdiError` for a null node or mount met there. 1.1.0 looks for features
    in no fixed order, so that it may meet the null first; 1.1.2 goes from new to old.
    """
    blocks = [device.get("containerEdits", {}) for device in spec.get("devices", [])]
    blocks.append(spec.get("containerEdits", {}))
    if library is Library.V1_1_0:
        found = [version for version, needs in _FEATURES if needs(spec, blocks)]
        return found[0] if found else _LEAST_VERSION
    for version, needs in _FEATURES:
        if needs(spec, blocks):
            return version
    return _LEAST_VERSION


def _needs_1_1_0(_spec: Json, blocks: list[Json]) -> bool:
    return any(
        edits.get("netDevices")
        or "schemata" in edits.get("intelRdt", {})
        or edits.get("intelRdt", {}).get("enableMonitoring")
        for edits in blocks
    )


def _needs_0_7_0(_spec: Json, blocks: list[Json]) -> bool:
    return any("intelRdt" in edits or edits.get("additionalGids") for edits in blocks)


def _needs_0_6_0(spec: Json, _blocks: list[Json]) -> bool:
    _, _, cls = spec.get("kind", "").partition("/")
    owners = [spec, *spec.get("devices", [])]
    return "." in cls or any(owner.get("annotations") for owner in owners)


def _needs_0_5_0(spec: Json, blocks: list[Json]) -> bool:
    names = [device.get("name", "") for device in spec.get("devices", [])]
    if any(name[:1] in tuple("0123456789") for name in names):
        return True
    return any(node.get("hostPath") for node in _entries(blocks, "deviceNodes"))


def _needs_0_4_0(_spec: Json, blocks: list[Json]) -> bool:
    return any(mount.get("type") for mount in _entries(blocks, "mounts"))


def _entries(blocks: list[Json], field: str) -> Iterator[Json]:
    for edits in blocks[-_LAST_BLOCKS:]:
        for entry in edits.get(field, []):
            if entry is None:
                raise _crash(field)
            yield entry


_FEATURES: tuple[tuple[str, Callable[[Json, list[Json]], bool]], ...] = (
    ("1.1.0", _needs_1_1_0),
    ("0.7.0", _needs_0_7_0),
    ("0.6.0", _needs_0_6_0),
    ("0.5.0", _needs_0_5_0),
    ("0.4.0", _needs_0_4_0),
)


def _crash(field: str) -> CdiError:
    return CdiError(
        f"{field}: a null entry crashes the library and the runtime that reads it; want an object",
        reason=CRASH,
    )


def check_edits(edits: Json, *, where: str, library: Library) -> None:
    """Raise :class:`CdiError` for the first bad entry of one containerEdits block."""
    _check_env(edits.get("env", []), f"{where}: env", "env")
    for field, check in _ENTRY_CHECKS:
        for index, entry in enumerate(edits.get(field, [])):
            place = f"{where}: {field}[{index}]"
            if entry is None:
                raise _null_entry(field, place, library)
            check(entry, place, library)
    if "intelRdt" in edits:
        _check_clos_id(edits["intelRdt"].get("closID", ""), f"{where}: intelRdt")
    check_net_devices(edits.get("netDevices", []), where=f"{where}: netDevices", library=library)


def _null_entry(field: str, place: str, library: Library) -> CdiError:
    if library is Library.V1_1_0:
        return _crash(field)
    return CdiError(f"{place}: got null, want an object", reason="null-entry")


def _check_env(env: list[str], where: str, reason: str) -> None:
    for variable in env:
        if variable.find("=") <= 0:
            raise CdiError(f"{where}: got {shown(variable)}, want NAME=value", reason=reason)


def _check_node(node: Json, where: str, library: Library) -> None:
    if not node.get("path"):
        raise CdiError(f"{where}: path is empty", reason="node-path")
    if node.get("type", "") not in NODE_TYPES:
        raise CdiError(
            f"{where}: type: got {shown(node['type'])}, want b, c, u, p or none", reason="node-type"
        )
    newest = library is Library.V1_1_2
    if newest and (node.get("major", 0) < 0 or node.get("minor", 0) < 0):
        raise CdiError(f"{where}: major and minor must not be negative", reason="node-number")
    permissions = node.get("permissions", "")
    if newest and permissions == NO_PERMISSIONS:
        return
    if not frozenset("rwm").issuperset(permissions):
        raise CdiError(
            f"{where}: permissions: got {shown(permissions)}, want letters of rwm",
            reason="node-permissions",
        )


def _check_hook(hook: Json, where: str, _library: Library) -> None:
    if hook.get("hookName", "") not in HOOK_NAMES:
        raise CdiError(
            f"{where}: hookName: got {shown(hook.get('hookName', ''))},"
            f" want one of {', '.join(HOOK_NAMES)}",
            reason="hook-name",
        )
    if not hook.get("path"):
        raise CdiError(f"{where}: path is empty", reason="hook-path")
    _check_env(hook.get("env", []), f"{where}: env", "hook-env")


def _check_mount(mount: Json, where: str, _library: Library) -> None:
    if not mount.get("hostPath"):
        raise CdiError(f"{where}: hostPath is empty", reason="mount-host")
    if not mount.get("containerPath"):
        raise CdiError(f"{where}: containerPath is empty", reason="mount-container")


_ENTRY_CHECKS: tuple[tuple[str, Callable[[Any, str, Library], None]], ...] = (
    ("deviceNodes", _check_node),
    ("hooks", _check_hook),
    ("mounts", _check_mount),
)


def _check_clos_id(clos_id: str, where: str) -> None:
    if clos_id == "/":
        return
    too_long = len(clos_id.encode(errors="replace")) >= MAXIMUM_CLOS_ID
    if too_long or clos_id in (".", "..") or "/" in clos_id or "\n" in clos_id:
        raise CdiError(
            f"{where}: closID: got {shown(clos_id)}, want a file name or '/'", reason="clos-id"
        )


def check_net_devices(devices: list[Json], *, where: str, library: Library) -> None:
    """Raise :class:`CdiError` for an empty or repeated name among network devices."""
    seen: set[tuple[str, str]] = set()
    for index, device in enumerate(devices):
        place = f"{where}[{index}]"
        if device is None:
            raise _null_entry("netDevices", place, library)
        for field in ("hostInterfaceName", "name"):
            name = device.get(field, "")
            if not name:
                raise CdiError(f"{place}: {field} is empty", reason="net-device")
            if (field, name) in seen:
                raise CdiError(
                    f"{place}: {field} {shown(name)} is there twice", reason="net-device"
                )
            seen.add((field, name))

"""Merged container edits, and what they make of an OCI runtime spec.

Source: CDI SPEC.md, OCI runtime-spec config.md, and recordings of the library.
"""

from __future__ import annotations

import copy
import dataclasses
import posixpath
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from pytest_dra.cdi.host import HostNodes
from pytest_dra.cdi.library import Library
from pytest_dra.cdi.library import library_of
from pytest_dra.cdi.validation import NO_PERMISSIONS
from pytest_dra.cdi.validation import check_net_devices
from pytest_dra.spec import Json

_LISTS = ("env", "deviceNodes", "netDevices", "mounts", "hooks", "additionalGids")
_DEFAULT_ACCESS = "rwm"


@dataclasses.dataclass(frozen=True)
class Injection:
    """What a container gets for the devices it requested: one merged containerEdits block."""

    edits: Json


def merge_edits(blocks: Iterable[Json]) -> Json:
    """Concatenate containerEdits blocks; of several intelRdt the last one counts as a whole."""
    merged: Json = {}
    for block in blocks:
        for field in _LISTS:
            if block.get(field):
                merged[field] = merged.get(field, []) + block[field]
        if "intelRdt" in block:
            merged["intelRdt"] = block["intelRdt"]
    return merged


def apply(
    oci: Json,
    injection: Injection,
    *,
    library: str = Library.V1_1_0.value,
    nodes: HostNodes | None = None,
) -> Json:
    """The OCI runtime spec of a container with ``injection``; ``oci`` stays as it is.

    Device nodes without type or numbers are looked up on this host. Raises
    :class:`pytest_dra.cdi.errors.CdiError` when one of them is missing or of another type; the
    library injects nothing then. ``nodes`` shared between calls behaves as one cache of 1.1.0,
    which looks at a host node only once.
    """
    version = library_of(library)
    edits = injection.edits
    spec = copy.deepcopy(oci)
    if version is Library.V1_1_2:
        check_net_devices(edits.get("netDevices", []), where="netDevices", library=version)
    _add_env(spec, edits.get("env", []), version)
    lookup = nodes if nodes is not None else HostNodes(library=library)
    for node in edits.get("deviceNodes", []):
        _add_node(spec, node, lookup.complete(node))
    for device in edits.get("netDevices", []):
        devices = _child(_child(spec, "linux"), "netDevices")
        devices[device["hostInterfaceName"]] = {"name": device["name"]}
    _add_mounts(spec, edits.get("mounts", []), version)
    for hook in edits.get("hooks", []):
        entry = {"path": hook["path"]} | _present(hook, ("args", "env"))
        if "timeout" in hook:
            entry["timeout"] = hook["timeout"]
        _items(_child(spec, "hooks"), hook["hookName"]).append(entry)
    if "intelRdt" in edits:
        fields = tuple(edits["intelRdt"])
        _child(spec, "linux")["intelRdt"] = _present(edits["intelRdt"], fields)
    _add_groups(spec, edits.get("additionalGids", []))
    return spec


def _child(parent: Json, key: str) -> Json:
    if parent.get(key) is None:
        parent[key] = {}
    child: Json = parent[key]
    return child


def _items(parent: Json, key: str) -> list[Any]:
    if parent.get(key) is None:
        parent[key] = []
    items: list[Any] = parent[key]
    return items


def _present(source: Json, fields: Iterable[str]) -> Json:
    return {field: copy.copy(source[field]) for field in fields if source.get(field)}


def _process(spec: Json) -> Json:
    """The process block; a new one has what OCI requires of it."""
    if spec.get("process") is None:
        spec["process"] = {"user": {"uid": 0, "gid": 0}, "cwd": ""}
    process: Json = spec["process"]
    return process


def _add_env(spec: Json, variables: list[str], library: Library) -> None:
    if not variables:
        return
    env = _items(_process(spec), "env")
    whole: Callable[[str], str] = str
    key = whole if library is Library.V1_1_0 else _variable_name
    places = {key(old): index for index, old in enumerate(env)}
    for variable in variables:
        name = _variable_name(variable)
        if name in places:
            env[places[name]] = variable
        else:
            places[name] = len(env)
            env.append(variable)


def _variable_name(variable: str) -> str:
    return variable.partition("=")[0]


def _add_node(spec: Json, node: Json, device: Json) -> None:
    entry = {
        "path": device["path"],
        "type": device.get("type", ""),
        "major": device.get("major", 0),
        "minor": device.get("minor", 0),
    }
    entry |= {key: device[key] for key in ("fileMode", "uid", "gid") if key in device}
    user = (spec.get("process") or {}).get("user") or {}
    for key in ("uid", "gid"):
        if key not in entry and user.get(key, 0) > 0:
            entry[key] = user[key]
    linux = _child(spec, "linux")
    devices = _items(linux, "devices")
    _replace_first(devices, "path", entry["path"])
    place = next((i for i, old in enumerate(devices) if old.get("path") == entry["path"]), None)
    if place is None:
        devices.append(entry)
    else:
        devices[place] = entry
    if entry["type"] in ("b", "c"):
        access = node.get("permissions") or _DEFAULT_ACCESS
        rule = {"allow": True} | {key: entry[key] for key in ("type", "major", "minor")}
        if access != NO_PERMISSIONS:
            rule["access"] = access
        _items(_child(linux, "resources"), "devices").append(rule)


def _replace_first(items: list[Json], key: str, value: str) -> None:
    for index, item in enumerate(items):
        if item.get(key) == value:
            del items[index]
            return


def _add_mounts(spec: Json, mounts: list[Json], library: Library) -> None:
    if not mounts:
        return
    found = _items(spec, "mounts")
    mapped = library is Library.V1_1_2 and _maps_users(spec)
    for mount in mounts:
        entry = {"destination": mount["containerPath"], "source": mount["hostPath"]}
        entry |= _present(mount, ("type", "options"))
        option = next(_mapping_option(mount), None) if mapped else None
        if option:
            entry["options"] = [*mount.get("options", []), option]
        _replace_first(found, "destination", mount["containerPath"])
        found.append(entry)
    found.sort(key=_depth)


def _depth(mount: Json) -> int:
    path: str = posixpath.normpath(mount.get("destination", ""))
    if path.startswith("//"):
        path = path[1:]
    return path.count("/")


def _maps_users(spec: Json) -> bool:
    linux = spec.get("linux") or {}
    if not linux.get("uidMappings") or not linux.get("gidMappings"):
        return False
    return any(item.get("type") == "user" for item in linux.get("namespaces") or [])


def _mapping_option(mount: Json) -> Iterator[str]:
    """The option that makes a bind mount follow the container's user mapping, if any."""
    option = "idmap" if mount.get("type") == "bind" else ""
    for word in mount.get("options", []):
        if word in ("idmap", "ridmap"):
            return
        option = {"bind": "idmap", "rbind": "ridmap"}.get(word, option)
    if option:
        yield option


def _add_groups(spec: Json, groups: list[int]) -> None:
    for group in groups:
        if group == 0:
            continue
        user = _child(_process(spec), "user")
        found = _items(user, "additionalGids")
        if group not in found:
            found.append(group)

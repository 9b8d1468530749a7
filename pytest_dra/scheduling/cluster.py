"""The objects of a cluster at one moment, by kind and name."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any
from typing import Final

from pytest_dra.allocator import Rules
from pytest_dra.allocator import State
from pytest_dra.scheduling.consumers import POD_GROUP
from pytest_dra.scheduling.extended import by_resource

Json = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name."""

DeviceKey = tuple[str, str, str]
"""Driver, pool and name of a device."""

DEFAULT_NAMESPACE: Final = "default"
ENDED: Final = ("Succeeded", "Failed")
"""Phases of pods that need nothing any more."""


def key_of(item: Json) -> Key:
    """Namespace and name of an object; one that names none is in ``default``."""
    meta = item.get("metadata") or {}
    return str(meta.get("namespace") or DEFAULT_NAMESPACE), str(meta.get("name") or "")


def allocation_of(claim: Json) -> Json | None:
    """The allocation of a claim, None if it has none."""
    found: Json | None = (claim.get("status") or {}).get("allocation")
    return found


def results_of(allocation: Json | None) -> list[Json]:
    """The devices of an allocation."""
    found: list[Json] = ((allocation or {}).get("devices") or {}).get("results") or []
    return found


def requests_of(claim: Json) -> list[Json]:
    """The requests of a claim."""
    found: list[Json] = ((claim.get("spec") or {}).get("devices") or {}).get("requests") or []
    return found


def device_of(result: Json) -> DeviceKey:
    """Which device a result is about."""
    return result.get("driver") or "", result.get("pool") or "", result.get("device") or ""


class Cluster:
    """Objects in the form of ``resource.k8s.io/v1``, with the defaults that a server fills in.

    Of what has the same kind and name the first counts. ``pods`` and ``nodes`` keep the order in
    which they were given. ``group_claims``: claims of groups of pods mean something; ``shared``
    are those that would be made. ``derived`` is true if the nodes were found in slices only.
    """

    def __init__(self, objects: Iterable[Json], *, group_claims: bool = False) -> None:
        self.group_claims = group_claims
        self.slices: list[Json] = []
        self.classes: dict[str, Json] = {}
        self.claims: dict[Key, Json] = {}
        self.templates: dict[Key, Json] = {}
        self.taint_rules: list[Json] = []
        self.pods: dict[Key, Json] = {}
        self.groups: dict[Key, Json] = {}
        self.shared: dict[Key, Json] = {}
        self.nodes: dict[str, Json] = {}
        self.derived = False
        for item in objects:
            self._add(item)
        if not self.nodes:
            self._derive_nodes()
        self._holders: dict[DeviceKey, list[Key]] | None = None

    def _add(self, item: Json) -> None:
        kind, key = item.get("kind"), key_of(item)
        if kind == "ResourceSlice":
            self.slices.append(item)
        elif kind == "DeviceClass":
            self.classes.setdefault(key[1], item)
        elif kind == "ResourceClaim":
            self.claims.setdefault(key, item)
        elif kind == "ResourceClaimTemplate":
            self.templates.setdefault(key, item)
        elif kind == "DeviceTaintRule":
            self.taint_rules.append(item)
        elif kind == "Pod":
            self.pods.setdefault(key, item)
        elif kind == POD_GROUP:
            self.groups.setdefault(key, item)
        elif kind == "Node":
            self.nodes.setdefault(key[1], item)

    def _derive_nodes(self) -> None:
        """Without Nodes: those that slices and devices name."""
        self.derived = True
        for one in self.slices:
            spec = one.get("spec") or {}
            for holder in (spec, *(spec.get("devices") or ())):
                name = holder.get("nodeName")
                if name:
                    self.nodes.setdefault(name, {"kind": "Node", "metadata": {"name": name}})
        if not self.nodes and self.slices:
            self.nodes[""] = {"kind": "Node", "metadata": {"name": ""}}

    def node(self, name: str) -> Json:
        """The node of a name; one that has nothing else if there is none."""
        return self.nodes.get(name) or {"metadata": {"name": name}}

    @functools.cached_property
    def resources(self) -> dict[str, str]:
        """Names of the classes by the extended resource that they stand for."""
        return by_resource(self.classes)

    @property
    def holders(self) -> dict[DeviceKey, list[Key]]:
        """Claims that have a device, by the device; without those for administrators."""
        if self._holders is None:
            self._holders = {}
            for key, claim in self.claims.items():
                self.hold(key, allocation_of(claim))
        return self._holders

    def hold(self, key: Key, allocation: Json | None) -> None:
        """Note that a claim has got its devices."""
        holders = self.holders
        for result in results_of(allocation):
            if not result.get("adminAccess"):
                found = holders.setdefault(device_of(result), [])
                if key not in found:
                    found.append(key)

    def release(self, key: Key, allocation: Json | None) -> None:
        """Undo :meth:`hold`."""
        for result in results_of(allocation):
            found = self.holders.get(device_of(result)) or []
            if key in found:
                found.remove(key)

    def state(self, rules: Rules) -> State:
        """What is in use."""
        state = State(rules)
        for claim in self.claims.values():
            allocation = allocation_of(claim)
            if allocation is not None:
                state.add(allocation)
        return state

    def users(self, key: Key) -> list[str]:
        """Names of the pods for which a claim is reserved."""
        claim = self.claims.get(key) or {}
        reserved = (claim.get("status") or {}).get("reservedFor") or ()
        return [
            str(one.get("name") or "") for one in reserved if one.get("resource") in ("pods", None)
        ]

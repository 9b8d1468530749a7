"""An API server of a few dictionaries, for a driver in the same process."""

from __future__ import annotations

import copy
import threading
import uuid
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_dra.fake_driver.apiserver import REQUEST_S
from pytest_dra.fake_driver.apiserver import SLICES
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.errors import ClaimError
from pytest_dra.fake_driver.errors import ClaimGoneError
from pytest_dra.fake_driver.server import Server

WATCH_LOOK_S = 0.2
LABELLED = "labelled"
"""The namespace that may have admin access."""

HELD_LIMIT_S = 10.0


class Store:
    """Slices, claims and nodes, shared by all clients; ``failures`` are answered first."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.version = 0
        self.slices: dict[str, dict[str, Any]] = {}
        self.events: list[tuple[int, dict[str, Any]]] = []
        self.claims: dict[tuple[str, str], dict[str, Any]] = {}
        self.nodes: dict[str, str] = {}
        self.failures: list[int] = []
        self.refused = 0
        self.writes: list[tuple[str, dict[str, Any]]] = []
        self.gets = 0
        self.unserved = 0
        self.compacted = False
        self.closed = False
        self.unreachable = False
        self.held = threading.Event()
        self.held.set()

    def put(self, item: dict[str, Any]) -> dict[str, Any]:
        """Store a slice under the next version and tell the watches."""
        with self.changed:
            self.version += 1
            kind = "MODIFIED" if item["metadata"]["name"] in self.slices else "ADDED"
            item["metadata"]["resourceVersion"] = str(self.version)
            self.slices[item["metadata"]["name"]] = item
            self.events.append((self.version, {"type": kind, "object": copy.deepcopy(item)}))
            self.changed.notify_all()
            return copy.deepcopy(item)

    def delete(self, name: str) -> None:
        """Delete a slice as somebody else would."""
        with self.changed:
            self.version += 1
            item = self.slices.pop(name)
            item["metadata"]["resourceVersion"] = str(self.version)
            self.events.append((self.version, {"type": "DELETED", "object": item}))
            self.changed.notify_all()

    def wipe(self, node: str) -> None:
        """Delete all slices of a node as a kubelet does."""
        with self.changed:
            for name in [n for n, s in self.slices.items() if s["spec"].get("nodeName") == node]:
                self.delete(name)

    def close(self) -> None:
        """End all watches for good."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def of(self, driver: str) -> list[dict[str, Any]]:
        """All slices of a driver, by name."""
        with self.changed:
            found = [item for item in self.slices.values() if item["spec"]["driver"] == driver]
            return copy.deepcopy(sorted(found, key=lambda item: str(item["metadata"]["name"])))


def api_of(store: Store) -> type[ApiServer]:
    """An API client class that talks to ``store``."""
    return type("Client", (MemoryApi,), {"store": store})


class MemoryApi(ApiServer):
    """The part of :class:`ApiServer` that the driver uses, on a :class:`Store`."""

    store: Store

    def __init__(self, kubeconfig: Path | None) -> None:
        super().__init__(kubeconfig)

    def connect(self) -> Server:
        return Server(url="memory", pool=None, headers=dict)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        timeout_s: float = REQUEST_S,
    ) -> dict[str, Any]:
        store = self.store
        if store.unreachable:
            raise ApiError(0, f"{method} {path}: connection refused")
        if "/resourceclaims/" in path:
            return self._claim(method, path, body)
        with store.changed:
            if method != "GET" and store.failures:
                status = store.failures.pop(0)
                raise ApiError(status, f"{method} {path}: {status} on request")
            if "/v1beta1/" in path:
                store.unserved += 1
                raise ApiError(404, "only v1 is served")
            if path.startswith("/api/v1/namespaces/"):
                labelled = path.rpartition("/")[2] == LABELLED
                label = "resource.kubernetes.io/admin-access"
                return {"metadata": {"labels": {label: "true"} if labelled else {}}}
            if path.startswith("/api/v1/nodes/"):
                uid = store.nodes.get(path.rpartition("/")[2])
                if uid is None:
                    raise ApiError(404, "no such node")
                return {"metadata": {"uid": uid}}
            if method == "GET":
                items = [copy.deepcopy(i) for i in store.slices.values() if _selected(i, query)]
                return {"items": items, "metadata": {"resourceVersion": str(store.version)}}
            store.writes.append((method, copy.deepcopy(body)))
            return self._write(method, path.removeprefix(f"{SLICES}/"), copy.deepcopy(body))

    def _claim(self, method: str, path: str, body: Any) -> dict[str, Any]:
        """Read a claim, or write its status as far as that is asked for."""
        store = self.store
        namespace, _, rest = path.partition("/namespaces/")[2].partition("/resourceclaims/")
        key = (namespace, rest.removesuffix("/status"))
        with store.changed:
            if key not in store.claims:
                raise ApiError(404, "no such claim")
            claim = store.claims[key]
            if method != "GET":
                if store.refused:
                    raise ApiError(store.refused, "refused on request")
                if "broken" not in claim:
                    claim["status"] = {**claim["status"], **copy.deepcopy(body["status"])}
            return copy.deepcopy(claim)

    def _write(self, method: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        store = self.store
        if method == "DELETE":
            if name not in store.slices:
                raise ApiError(404, "gone")
            store.delete(name)
            return {}
        _validate(body["spec"])
        meta = body["metadata"]
        if method == "POST":
            meta["uid"] = str(uuid.uuid4())
            meta["name"] = meta["generateName"] + meta["uid"][:5]
        elif name not in store.slices:
            raise ApiError(404, "gone")
        elif meta["resourceVersion"] != store.slices[name]["metadata"]["resourceVersion"]:
            raise ApiError(409, "conflict")
        elif body["spec"]["pool"]["name"] != store.slices[name]["spec"]["pool"]["name"]:
            raise ApiError(422, "spec.pool.name: field is immutable")
        return store.put(body)

    def watch(
        self, path: str, query: Mapping[str, str], *, timeout_s: float
    ) -> Iterator[dict[str, Any]]:
        store = self.store
        seen = int(query["resourceVersion"])
        while True:
            with store.changed:
                if store.compacted:
                    store.compacted = False
                    raise ApiError(410, "too old")
                if store.closed:
                    threading.Event().wait(WATCH_LOOK_S)
                    return
                new = [event for version, event in store.events if version > seen]
                seen = store.version
                if not new:
                    store.changed.wait(WATCH_LOOK_S)
            for event in new:
                if _selected(event["object"], query):
                    yield copy.deepcopy(event)

    def get_claim(self, namespace: str, name: str, *, timeout_s: float) -> dict[str, Any]:
        with self.store.changed:
            self.store.gets += 1
        self.store.held.wait(HELD_LIMIT_S)
        with self.store.changed:
            claim = self.store.claims.get((namespace, name))
        if claim is None:
            raise ClaimGoneError(f"claim {namespace}/{name} cannot be read: 404")
        if "broken" in claim:
            cause = ApiError(500, "on request")
            raise ClaimError(f"claim {namespace}/{name} cannot be read: {cause}") from cause
        return copy.deepcopy(claim)


def _selected(item: dict[str, Any], query: Mapping[str, str] | None) -> bool:
    for part in filter(None, (query or {}).get("fieldSelector", "").split(",")):
        key, _, value = part.partition("=")
        if item["spec"].get(key.removeprefix("spec."), "") != value:
            return False
    return True


def _validate(spec: dict[str, Any]) -> None:
    if "nodeName" in spec and "allNodes" in spec:
        raise ApiError(422, "exactly one of nodeName and allNodes")
    if any(device["name"] != device["name"].lower() for device in spec.get("devices", [])):
        raise ApiError(422, "no DNS label")

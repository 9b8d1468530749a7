"""Keeps the published ResourceSlices right: list, repair, watch, repair at each event.

Everything is done under one lock, so two repairs never meet. A pool is repaired like this:
slices that belong nowhere are deleted first; a change of one slice keeps the generation; anything
more is written under the next generation, existing slices first, then the missing ones.
"""

from __future__ import annotations

import logging
import random
import re
import threading
import time
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import CONFLICT
from pytest_dra.fake_driver.apiserver import GONE
from pytest_dra.fake_driver.apiserver import INVALID
from pytest_dra.fake_driver.apiserver import NOT_FOUND
from pytest_dra.fake_driver.apiserver import SLICES
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.apiserver import list_all
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.pool_plan import PoolPlan
from pytest_dra.fake_driver.pool_plan import dropped
from pytest_dra.fake_driver.pool_plan import plan
from pytest_dra.fake_driver.slices import GROUPS
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices
from pytest_dra.fake_driver.slices import without_groups

WATCH_S: Final = 290.0
"""Length of one watch; everything is listed anew after it, in case an event was lost."""

BACKOFF_FIRST_S: Final = 0.2
BACKOFF_MAX_S: Final = 10.0
"""Pauses after a failure: doubled from the first to the longest, with up to a fifth of jitter."""

RETRY_AFTER_MAX_S: Final = 30.0
"""Longest pause that a server's Retry-After is granted."""

REFUSED_AGAIN_S: Final = 300.0
"""Pause before a pool that the API server has called invalid is offered again: only a change of
policy on the server's side can help."""

NAME_BASE_MAX: Final = 58
"""Characters of ``generateName`` that the API server keeps."""

_INDEX = re.compile(r"([0-9a-f]{5,})-")

_log = logging.getLogger(__name__)


class Publisher:
    """Publishes what :class:`Slices` wants, until the process ends."""

    kept = 1
    """A change of at most so many slices keeps the pool's generation."""

    def __init__(self, options: Options, api: ApiServer, slices: Slices) -> None:
        self.options = options
        self.api = api
        self.slices = slices
        self.groups_dropped = False
        self.wanted = self.all_wanted()
        self.lock = threading.RLock()
        self.stopping = threading.Event()
        self.seen: dict[str, dict[str, Any]] = {}
        self.generations: dict[tuple[str, str], int] = {}
        self.echoes: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.refused: dict[tuple[str, str], float] = {}
        self.owner: dict[str, Any] | None = None

    def run(self) -> None:
        """Publish for ever; StartError if the configuration of the API client is bad."""
        self.api.connect()
        pause_s = 0.0
        while not self.stopping.wait(pause_s):
            try:
                with self.lock:
                    version = self.list_slices()
                    self.find_owner()
                    self.repair()
                pause_s = BACKOFF_FIRST_S
                self.follow(version)
            except ApiError as error:
                pause_s = self.after(error, pause_s)
            except (KeyError, TypeError, ValueError) as error:
                _log.exception("an answer of the API server makes no sense")
                pause_s = self.after(ApiError(0, f"malformed answer: {error!r}"), pause_s)

    def after(self, error: ApiError, pause_s: float) -> float:
        """How long to wait after ``error``, in seconds."""
        if error.status == GONE:
            return 0.0
        _log.warning("%s; trying again", error)
        longer = min(max(pause_s * 2, BACKOFF_FIRST_S), BACKOFF_MAX_S)
        jitter = 1 + random.random() / 5  # noqa: S311 - only spreads retries
        return max(longer * jitter, min(error.retry_after_s, RETRY_AFTER_MAX_S))

    def selector(self) -> str:
        """Field selector of the slices that can be ours."""
        specs = [spec for pool in self.wanted.values() for spec in pool.specs]
        drivers = {spec["driver"] for spec in specs} | {self.options.driver_name}
        nodes = {spec.get("nodeName") for spec in specs} | {self.options.node_name}
        parts = []
        if len(drivers) == 1:
            parts.append(f"spec.driver={self.options.driver_name}")
        if len(nodes) == 1:
            parts.append(f"spec.nodeName={self.options.node_name}")
        return ",".join(parts)

    def is_ours(self, item: dict[str, Any]) -> bool:
        """True for slices of our pools, and for those of this driver on this node."""
        spec = item.get("spec") or {}
        driver = spec.get("driver")
        if (driver, (spec.get("pool") or {}).get("name")) in self.wanted:
            return True
        return bool(
            driver == self.options.driver_name and spec.get("nodeName") == self.options.node_name
        )

    def list_slices(self) -> str:
        """Take in all slices; the resource version of the list."""
        query = {"fieldSelector": self.selector()} if self.selector() else {}
        found, version = list_all(self.api, SLICES, query)
        self.seen = {item["metadata"]["name"]: item for item in found if self.is_ours(item)}
        return version

    def find_owner(self) -> None:
        """Look for the Node that the slices shall go with."""
        if self.owner is None:
            uid = self.api.node_uid(self.options.node_name)
            if uid:
                self.owner = {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "name": self.options.node_name,
                    "uid": uid,
                    "controller": True,
                }

    def follow(self, version: str) -> None:
        """Watch and repair until the server ends the watch."""
        query = {"resourceVersion": version, "allowWatchBookmarks": "true"}
        if self.selector():
            query["fieldSelector"] = self.selector()
        for event in self.api.watch(SLICES, query, timeout_s=WATCH_S):
            if self.stopping.is_set():
                return
            if event.get("type") == "BOOKMARK":
                continue
            with self.lock:
                if self.take_in(str(event.get("type")), event["object"]):
                    self.repair()

    def change(self, inventory: Inventory) -> bool:
        """Publish other devices from now on; False if that has not been possible yet."""
        with self.lock:
            self.slices.inventory = inventory
            self.wanted = self.all_wanted()
            try:
                self.repair()
            except ApiError as error:
                _log.warning("%s; trying again", error)
                return False
            return True

    def take_in(self, kind: str, item: dict[str, Any]) -> bool:
        """Note one event; False if it tells nothing new (our own writes come back as events)."""
        name = item["metadata"]["name"]
        known = self.seen.get(name)
        if kind == "DELETED":
            same_uid = known is not None and known["metadata"]["uid"] == item["metadata"]["uid"]
            if same_uid:
                del self.seen[name]
            return same_uid
        if not self.is_ours(item) or (known is not None and not _newer(item, known)):
            return False
        self.seen[name] = item
        return True

    def repair(self) -> None:
        """Make every pool right; ApiError if one could not be."""
        failed: ApiError | None = None
        for key in [*self.wanted, *self.strays()]:
            try:
                if time.monotonic() >= self.refused.get(key, 0.0):
                    self.repair_pool(key)
            except ApiError as error:
                if error.status != INVALID:
                    failed = error
                    continue
                _log.error("pool %s is refused: %s", key[1], error)
                self.refused[key] = time.monotonic() + REFUSED_AGAIN_S
        if failed:
            raise failed

    def strays(self) -> Iterable[tuple[str, str]]:
        """Pools of ours that are published and not wanted."""
        found = {
            (str(item["spec"]["driver"]), str(item["spec"]["pool"]["name"]))
            for item in self.seen.values()
        }
        return sorted(found - set(self.wanted))

    def repair_pool(self, key: tuple[str, str]) -> None:
        """Write what is wrong in one pool."""
        wanted = self.wanted.get(key, PoolSlices(driver=key[0], pool=key[1], specs=()))
        made = self.plan(key, wanted)
        for item in made.obsolete:
            self.delete(item)
        generation = made.generation
        self.generations[key] = max(generation, self.generations.get(key, 0))
        for index, item in made.changed:
            self.update(item, wanted.specs[index], generation)
        for index in made.missing:
            self.create(index, wanted.specs[index], generation)
        if made.writes:
            _log.info("pool %s: %d writes, generation %d", key[1], made.writes, generation)

    def plan(self, key: tuple[str, str], wanted: PoolSlices) -> PoolPlan:
        """What is to be written in one pool."""
        mine = [
            item
            for item in self.seen.values()
            if (item["spec"]["driver"], item["spec"]["pool"]["name"]) == key
        ]
        return plan(
            wanted.specs,
            mine,
            index_of=_index_of,
            right=self.is_right,
            last_generation=self.generations.get(key, 0),
            kept=self.kept,
        )

    def is_right(self, item: dict[str, Any], spec: dict[str, Any]) -> bool:
        """True if a published slice says what ``spec`` wants, or what the server made of it."""
        owners = item["metadata"].get("ownerReferences") or []
        if any(owner not in owners for owner in self.owners(spec)):
            return False
        sent, stored = self.echoes.get(item["metadata"]["name"], ({}, {}))
        wanted = stored if sent == spec else spec
        return not dropped(wanted, item["spec"]) and not dropped(item["spec"], wanted)

    def owners(self, spec: dict[str, Any]) -> list[dict[str, Any]]:
        """Who a slice goes with: the Node that it is for."""
        mine = spec.get("nodeName") == self.options.node_name
        return [self.owner] if self.owner is not None and mine else []

    def body(self, spec: dict[str, Any], generation: int) -> dict[str, Any]:
        """The spec as it is sent."""
        return {**spec, "pool": {**spec["pool"], "generation": generation}}

    def create(self, index: int, spec: dict[str, Any], generation: int) -> None:
        """Create slice ``index`` of a pool."""
        base = f"{index:05x}-{spec['driver']}-{self.options.node_name}-"[:NAME_BASE_MAX]
        metadata = {"generateName": base, "ownerReferences": self.owners(spec)}
        self.written(
            spec,
            self.api.request("POST", SLICES, body=slice_of(metadata, self.body(spec, generation))),
        )

    def update(self, item: dict[str, Any], spec: dict[str, Any], generation: int) -> None:
        """Put a published slice right."""
        metadata = {k: v for k, v in item["metadata"].items() if k != "managedFields"}
        metadata["ownerReferences"] = self.owners(spec) or metadata.get("ownerReferences", [])
        path = f"{SLICES}/{metadata['name']}"
        timed = self.with_times(spec, item["spec"])
        body = slice_of(metadata, self.body(timed, generation))
        try:
            self.written(spec, self.api.request("PUT", path, body=body))
        except ApiError as error:
            if error.status == INVALID or error.status == CONFLICT:
                self.seen.pop(metadata["name"], None)
            raise

    def with_times(self, spec: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
        """The spec with the times of the taints that are published already: the server gives each
        one a new time that comes without."""
        times = {
            _taint_key(device["name"], taint): taint["timeAdded"]
            for device in stored.get("devices") or []
            for taint in device.get("taints") or []
            if "timeAdded" in taint
        }
        return with_taints(spec, lambda name, taint: times.get(_taint_key(name, taint), ""))

    def written(self, spec: dict[str, Any], stored: dict[str, Any]) -> None:
        """Note what the server has made of ``spec``."""
        name = stored["metadata"]["name"]
        self.seen[name] = stored
        self.echoes[name] = (spec, stored["spec"])
        lost = dropped(spec, stored["spec"])
        if lost:
            _log.warning("slice %s: the API server dropped %s (feature gates?)", name, lost)
        if lost.endswith(GROUPS):
            self.leave_out_groups()

    def leave_out_groups(self) -> None:
        """Send no compatibility groups any more: each write would raise the generation."""
        self.groups_dropped = True
        self.wanted = self.all_wanted()

    def all_wanted(self) -> dict[tuple[str, str], PoolSlices]:
        """What is to be published, by driver and pool."""
        pools = self.slices.wanted()
        if self.groups_dropped:
            pools = [without_groups(pool) for pool in pools]
        return {(pool.driver, pool.pool): pool for pool in pools}

    def delete(self, item: dict[str, Any]) -> None:
        """Delete exactly this state of a slice of ours."""
        meta = item["metadata"]
        conditions = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        try:
            self.api.request("DELETE", f"{SLICES}/{meta['name']}", body=body)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
        self.seen.pop(meta["name"], None)
        self.echoes.pop(meta["name"], None)


def slice_of(metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """A ResourceSlice."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": metadata,
        "spec": spec,
    }


def with_taints(
    spec: dict[str, Any], time_of: Callable[[str, dict[str, Any]], str]
) -> dict[str, Any]:
    """A slice spec in which each taint has the time that ``time_of`` says, if it says one."""

    def timed(name: str, taint: dict[str, Any]) -> dict[str, Any]:
        time = time_of(name, taint)
        return {**taint, "timeAdded": time} if time else taint

    def of_device(device: dict[str, Any]) -> dict[str, Any]:
        if not device.get("taints"):
            return device
        return {**device, "taints": [timed(device["name"], taint) for taint in device["taints"]]}

    if "devices" not in spec:
        return spec
    return {**spec, "devices": [of_device(device) for device in spec["devices"]]}


def _taint_key(device: str, taint: dict[str, Any]) -> tuple[Any, ...]:
    """What makes a taint another one."""
    return device, taint["key"], taint.get("value"), taint["effect"]


def _index_of(item: dict[str, Any]) -> int | None:
    match = _INDEX.match(item["metadata"]["name"])
    return int(match[1], 16) if match else None


def _newer(item: dict[str, Any], known: dict[str, Any]) -> bool:
    """True unless ``item`` is a state that we have already seen."""
    new, old = (str(one["metadata"].get("resourceVersion", "")) for one in (item, known))
    if new.isdecimal() and old.isdecimal():
        return int(new) > int(old)
    return new != old

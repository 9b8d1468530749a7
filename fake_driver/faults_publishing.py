"""Faults of keeping slices right over time: generations, repairs, restarts, API errors."""

from __future__ import annotations

import dataclasses
import datetime
import threading
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import CONFLICT
from pytest_dra.fake_driver.apiserver import RESOURCE_API
from pytest_dra.fake_driver.apiserver import SLICES
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.faults import fault
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.pool_plan import PoolPlan
from pytest_dra.fake_driver.pool_plan import dropped
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.slices import PoolSlices

RELABEL_S: Final = 10.0
"""Pause between two writes of SLICE-014."""

REWRITE_S: Final = 0.02
"""Pause between two writes of SLICE-020."""

OLD_API: Final = "/apis/resource.k8s.io/v1beta1"


@fault(
    "SLICE-010",
    "on a hotplug also move one device from slice 1 to slice 2, with two plain updates in the same "
    "generation",
)
class MovesOne(Publisher):
    def change(self, inventory: Inventory) -> bool:
        done = super().change(inventory)
        with self.lock:
            for key, pool in self.wanted.items():
                if done and len(pool.specs) > 1:
                    self.move(key, pool)
        return done

    def move(self, key: tuple[str, str], pool: PoolSlices) -> None:
        """Move the first device of the pool into its second slice."""
        one, two, *others = pool.specs
        moved, *rest = one["devices"]
        one, two = {**one, "devices": rest}, {**two, "devices": [*two["devices"], moved]}
        here = {item["metadata"]["name"]: item for item in self.seen.values()}
        mine = sorted(name for name, item in here.items() if item["spec"]["pool"]["name"] == key[1])
        for name, spec in zip(mine, (one, two), strict=False):
            self.update(here[name], spec, self.generations[key])
        self.wanted[key] = dataclasses.replace(pool, specs=(one, two, *others))


@fault("SLICE-011", "create slices of the new generation, never delete the old ones")
class NeverDeletes(Publisher):
    def plan(self, key: tuple[str, str], wanted: PoolSlices) -> PoolPlan:
        made = super().plan(key, wanted)
        if len(made.changed) < 2:
            return made
        new = tuple(sorted({*made.missing, *(index for index, _ in made.changed)}))
        return dataclasses.replace(made, changed=(), missing=new)

    def delete(self, item: dict[str, Any]) -> None:
        self.seen.pop(item["metadata"]["name"], None)


@fault(
    "SLICE-013", "do not react to modified slices while running (deleted ones are still replaced)"
)
class IgnoresEdits(Publisher):
    def take_in(self, kind: str, item: dict[str, Any]) -> bool:
        known = item["metadata"]["name"] in self.seen
        return not (kind == "MODIFIED" and known) and super().take_in(kind, item)


@fault("SLICE-014", "rewrite a label of one slice with the current time every 10 s")
class Relabels(Publisher):
    def run(self) -> None:
        threading.Thread(target=self.relabel, name="labels", daemon=True).start()
        super().run()

    def relabel(self) -> None:
        while not self.stopping.wait(RELABEL_S):
            with self.lock:
                item = next(iter(self.seen.values()), None)
                if item is None:
                    continue
                now = datetime.datetime.now(datetime.timezone.utc)
                labels = {"fake.dra.example/seen": now.strftime("%H-%M-%S.%f")}
                body = {**item, "metadata": {**item["metadata"], "labels": labels}}
                try:
                    path = f"{SLICES}/{item['metadata']['name']}"
                    stored = self.api.request("PUT", path, body=body)
                except ApiError:
                    continue
                self.seen[item["metadata"]["name"]] = stored


@fault("SLICE-017", "at start delete every slice whose driver is another one")
class DeletesOthers(Publisher):
    alone = False

    def repair(self) -> None:
        if not self.alone:
            for item in self.api.request("GET", SLICES).get("items") or []:
                if item["spec"]["driver"] != self.options.driver_name:
                    self.api.request("DELETE", f"{SLICES}/{item['metadata']['name']}")
            self.alone = True
        super().repair()


@fault("SLICE-019", "give up for ever after the first 409")
class GivesUp(Publisher):
    def after(self, error: ApiError, pause_s: float) -> float:
        if error.status == CONFLICT:
            self.stopping.wait()
        return super().after(error, pause_s)


@fault("SLICE-020", "compare sent and stored slice and rewrite at once, for ever")
class RewritesForEver(Publisher):
    def is_right(self, item: dict[str, Any], spec: dict[str, Any]) -> bool:
        return super().is_right(item, spec) and not dropped(spec, item["spec"])

    def repair(self) -> None:
        super().repair()
        while self.loses() and not self.stopping.wait(REWRITE_S):
            super().repair()

    def loses(self) -> bool:
        """True if a slice is not stored as it was sent."""
        return any(dropped(sent, stored) for sent, stored in self.echoes.values())


class OldApi:
    """The client with the paths of v1beta1."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api

    def request(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        return self.api.request(method, path.replace(RESOURCE_API, OLD_API), **more)

    def watch(
        self, path: str, query: Mapping[str, str], *, timeout_s: float
    ) -> Iterator[dict[str, Any]]:
        old = path.replace(RESOURCE_API, OLD_API)
        return self.api.watch(old, query, timeout_s=timeout_s)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.api, name)


@fault("SLICE-022", "use resource.k8s.io/v1beta1 without fallback")
class OnlyOldApi(Publisher):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        old: Any = OldApi(self.api)
        self.api = old


@fault("SLICE-026", "write generation 1 in every publication of two or more slices")
class AlwaysFirst(Publisher):
    def body(self, spec: dict[str, Any], generation: int) -> dict[str, Any]:
        several = spec["pool"]["resourceSliceCount"] > 1
        return super().body(spec, 1 if several else generation)

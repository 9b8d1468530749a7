"""Legal variants of keeping slices right over time: V01, V22, V25, V26 and V27 of the catalogue."""

from __future__ import annotations

import dataclasses
import logging
import math
import threading
import time
from typing import Any
from typing import Final

from pytest_dra.fake_driver.apiserver import GONE
from pytest_dra.fake_driver.apiserver import SLICES
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.inventory import Inventory
from pytest_dra.fake_driver.pool_plan import PoolPlan
from pytest_dra.fake_driver.publisher import NAME_BASE_MAX
from pytest_dra.fake_driver.publisher import Publisher
from pytest_dra.fake_driver.publisher import slice_of
from pytest_dra.fake_driver.slices import PoolSlices

PERIOD_S: Final = 30.0
"""What the Go helper of 1.36 repairs at the multiples of, counted from its last write."""

OLD_PERIOD_S: Final = 60.0
"""The same of the Go helper of 1.34."""

AGAIN_FIRST_S: Final = 0.5
AGAIN_MAX_S: Final = 8.0
"""Pauses after a late repair that failed: doubled from the first to the longest."""

_log = logging.getLogger(__name__)


class OneWrite(Publisher):
    """V01: the generation stays wherever a single write makes the pool right.

    That is so for a slice that has to be made again, too.
    """

    def plan(self, key: tuple[str, str], wanted: PoolSlices) -> PoolPlan:
        made = super().plan(key, wanted)
        wrong = tuple(
            (index, item)
            for index, item in made.changed
            if not self.is_right(item, wanted.specs[index])
        )
        if len(wrong) + len(made.missing) != 1:
            return made
        there = [int(item["spec"]["pool"].get("generation") or 0) for _, item in made.changed]
        kept = max([*there, self.generations.get(key, 0)])
        return dataclasses.replace(made, changed=wrong, generation=kept or made.generation)


class Exits(Publisher):
    """V22: an API error ends the process, which is right again after its restart.

    A server that was reached before and is not now is waited for, as client-go does it.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.reached = False

    def follow(self, version: str) -> None:
        self.reached = True
        super().follow(version)

    def after(self, error: ApiError, pause_s: float) -> float:
        if error.status == GONE or (error.status == 0 and self.reached):
            return super().after(error, pause_s)
        raise StartError(f"{error}; start the driver again")


class Late(Publisher):
    """V26: what others do is put right at the next multiple of a period since the last write.

    The first publication, changes of the devices and what has failed do not wait for it.
    """

    period_s = PERIOD_S

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.wrote = 0.0
        self.unfinished = True
        self.timer: threading.Timer | None = None

    def written(self, spec: dict[str, Any], stored: dict[str, Any]) -> None:
        self.wrote = time.monotonic()
        super().written(spec, stored)

    def delete(self, item: dict[str, Any]) -> None:
        self.wrote = time.monotonic()
        super().delete(item)

    def change(self, inventory: Inventory) -> bool:
        with self.lock:
            self.unfinished = True
            return super().change(inventory)

    def repair(self) -> None:
        if self.unfinished:
            super().repair()
            self.unfinished = False
            self.wrote = self.wrote or time.monotonic()
        elif self.timer is None:
            since = time.monotonic() - self.wrote
            self.later(math.ceil(since / self.period_s) * self.period_s - since, AGAIN_FIRST_S)

    def later(self, wait_s: float, again_s: float) -> None:
        """Repair after ``wait_s``, and after ``again_s`` once more where that fails."""
        self.timer = threading.Timer(wait_s, self.repair_now, [again_s])
        self.timer.daemon = True
        self.timer.start()

    def repair_now(self, again_s: float) -> None:
        """Put right whatever is wrong at this moment."""
        with self.lock:
            self.timer = None
            if self.stopping.is_set():
                return
            try:
                super().repair()
            except ApiError as error:
                _log.warning("%s; trying again", error)
                self.list_again()
                self.later(again_s, min(2 * again_s, AGAIN_MAX_S))

    def list_again(self) -> None:
        """What a failed write has shown to be out of date is read anew."""
        try:
            self.list_slices()
        except ApiError as error:
            _log.warning("%s", error)


class LateOld(Late):
    """V26 of the Go helper of 1.34."""

    period_s = OLD_PERIOD_S


class NewObjects(Publisher):
    """V27: each change makes new slices of all, under generated names, before the old ones go.

    The first generation is 0.
    """

    def repair_pool(self, key: tuple[str, str]) -> None:
        wanted = self.wanted.get(key, PoolSlices(driver=key[0], pool=key[1], specs=()))
        mine = [
            item
            for item in self.seen.values()
            if (item["spec"]["driver"], item["spec"]["pool"]["name"]) == key
        ]
        generations = [int(item["spec"]["pool"].get("generation") or 0) for item in mine]
        newest = max(generations, default=-1)
        rest, right = list(mine), 0
        for spec in wanted.specs:
            found = next((item for item in rest if self.is_same(item, spec, newest)), None)
            if found is not None:
                rest.remove(found)
                right += 1
        if right < len(wanted.specs):
            rest = mine
            generation = max(newest, self.generations.get(key, -1)) + 1
            self.generations[key] = generation
            for index, spec in enumerate(wanted.specs):
                self.create(index, spec, generation)
        for item in rest:
            self.delete(item)

    def is_same(self, item: dict[str, Any], spec: dict[str, Any], generation: int) -> bool:
        """True if a slice of the newest generation says what ``spec`` wants."""
        its = int(item["spec"]["pool"].get("generation") or 0)
        return its == generation and self.is_right(item, spec)

    def create(self, index: int, spec: dict[str, Any], generation: int) -> None:
        base = f"{self.options.node_name}-{spec['driver']}-"[:NAME_BASE_MAX]
        metadata = {"generateName": base, "ownerReferences": self.owners(spec)}
        body = slice_of(metadata, self.body(spec, generation))
        self.written(spec, self.api.request("POST", SLICES, body=body))


class AllUpdated(Publisher):
    """V27: each change is written to all slices of the pool, under a new generation."""

    kept = 0


VARIANTS: Final[dict[str, dict[str, type[Any]]]] = {
    "V01": {"publisher": OneWrite},
    "V22": {"publisher": Exits},
    "V25": {},
    "V26": {"publisher": Late},
    "V26-60": {"publisher": LateOld},
    "V27": {"publisher": NewObjects},
    "V27-ALL": {"publisher": AllUpdated},
}
"""V25, slices that stay after SIGTERM, is what the driver does anyway."""

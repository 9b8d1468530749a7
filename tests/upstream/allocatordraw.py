"""Random small clusters with claims, for the comparison with the oracle.

Every feature of the allocator is drawn, also such combinations as an API server would not let
through, as long as the Go allocator does not break down on them.
"""

from __future__ import annotations

import contextlib
import random
from typing import Any
from typing import Final

from pytest_dra.allocator import RulesError
from pytest_dra.allocator.rules import GATES
from tests.upstream.allocatorparts import DRIVERS
from tests.upstream.allocatorparts import Json
from tests.upstream.allocatorparts import Parts
from tests.upstream.scenario import rules_for

PROFILES: Final = ("default",) * 9 + ("all",) * 9 + ("1.36", "parts", "ga", "none", "1.34")


def scenario(seed: int) -> Json:
    """The scenario of a seed."""
    return _Draw(random.Random(seed)).scenario(seed)  # noqa: S311 - repeatable, not secret


class _Draw(Parts):
    def scenario(self, seed: int) -> Json:
        """A scenario."""
        made: Json = {"id": f"z{seed}", "profile": self.pick(PROFILES)}
        if self.chance(0.08):
            names = self.some(tuple(GATES), 1, 3)
            made["features"] = {name: self.chance(0.4) for name in names}
        if self.chance(0.06):
            made["variant"] = self.pick(("stable", "incubating", "experimental"))
        with contextlib.suppress(RulesError):
            self.ordered = rules_for(made).variant != "stable"
        made["nodes"] = self.nodes()
        made["deviceClasses"] = self.classes()
        made["resourceSlices"] = self.slices()
        allocated = self.allocated(made["resourceSlices"])
        if allocated:
            made["allocatedClaims"] = allocated
        made["claims"] = [self.claim(f"c{i}") for i in range(self.count((1, 1, 1, 2, 2, 3)))]
        if self.chance(0.05):
            made["noDefaults"] = True
        self._order(made)
        return made

    def _order(self, made: Json) -> None:
        names = [claim["metadata"]["name"] for claim in made["claims"]]
        nodes = [node["metadata"]["name"] for node in made["nodes"]]
        if self.chance(0.25):
            made["pods"] = [
                {"name": f"p{i}", "claims": self.some(names, 1, len(names))}
                for i in range(self.count((1, 2, 3)))
            ]
            if self.chance(0.2):
                made["pods"][0]["tryNodes"] = self.some(nodes, 1, len(nodes))
        elif self.chance(0.1):
            made["tryNodes"] = self.some(nodes, 1, len(nodes))

    def slices(self) -> list[Json]:
        """Slices of some pools."""
        found: list[Json] = []
        pools = 1 if not self.ordered else self.count((1, 1, 2, 2, 3, 4))
        for number in range(pools):
            found += self.pool(f"pool-{number if self.chance(0.9) else 0}")
        if self.chance(0.3):
            self.random.shuffle(found)
        if not self.ordered:
            for one in found:
                one["spec"]["driver"] = DRIVERS[0]
                one["spec"]["pool"]["name"] = "pool-0"
        return found

    def pool(self, name: str) -> list[Json]:
        """Slices of one pool."""
        driver = self.pick(DRIVERS[:2]) if self.chance(0.95) else DRIVERS[2]
        self.sets = self.counter_sets() if self.chance(0.35) else []
        if self.chance(0.15):
            self.kind = self.pick(("plain", "same", "shared"))
        count = self.count((1, 1, 1, 2, 2, 3))
        place = self.place()
        found = []
        number = 0
        self.serial = 0
        for i in range(count):
            spec: Json = {"driver": driver, "pool": {"name": name, "generation": 1}}
            spec.update(place if self.chance(0.6) else self.place())
            spec["devices"] = self.devices()
            if "perDeviceNodeSelection" in spec:
                for device in spec["devices"]:
                    device.update(self.device_place())
            if self.chance(0.05):
                spec["skipNodeOperations"] = ["Prepare"]
            found.append(spec)
            number = i + 1
        for sets in self.split(self.sets):
            spec = {"driver": driver, "pool": {"name": name, "generation": 1}}
            spec.update(place if self.chance(0.8) else self.place())
            spec["sharedCounters"] = sets
            found.append(spec)
            number += 1
        if self.chance(0.06):
            number += self.pick((-1, 1))
        for spec in found:
            spec["pool"]["resourceSliceCount"] = number
            if self.chance(0.04):
                spec["pool"]["generation"] = 2
        return [self.named(spec, name) for spec in found]

    def named(self, spec: Json, pool: str) -> Json:
        """A slice with a name of its own."""
        self.names += 1
        letter = self.pick("abc")
        return {"metadata": {"name": f"{letter}-{pool}-{self.names}"}, "spec": spec}

    def allocated(self, slices: list[Json]) -> list[Json]:
        """Claims that hold some of the devices."""
        found = []
        for number in range(self.count((0, 0, 0, 1, 1, 2, 3))):
            results = []
            for _ in range(self.count((1, 1, 2))):
                result = self.held(slices)
                if result:
                    results.append(result)
            if not results:
                continue
            allocation: Json = {"devices": {"results": results}}
            found.append({
                "metadata": {"name": f"held-{number}", "namespace": "default"},
                "spec": {},
                "status": {"allocation": allocation},
            })  # fmt: skip
        return found

    def held(self, slices: list[Json]) -> Json | None:
        """A result with a device that is published, or was."""
        one = self.pick(slices) if slices else None
        devices = (one or {}).get("spec", {}).get("devices") or []
        if one is None or not devices:
            return None
        device: Any = self.pick(devices)
        pool = one["spec"]["pool"]["name"]
        made: Json = {"request": "r", "driver": one["spec"]["driver"], "pool": pool}
        made["device"] = device["name"] if self.chance(0.95) else "gone"
        if self.chance(0.08):
            made["adminAccess"] = True
        if self.chance(0.7 if device.get("allowMultipleAllocations") else 0.05):
            self.names += 1
            made["shareID"] = f"00000000-0000-0000-0000-{self.names:012d}"
            if device.get("capacity") and self.chance(0.8):
                made["consumedCapacity"] = {
                    name: self.pick(("1", "2", "3", "500m")) for name in device["capacity"]
                }
        return made

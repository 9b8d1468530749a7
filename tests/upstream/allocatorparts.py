"""Random parts of a cluster: nodes, classes, devices, requests, constraints."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from typing import Final
from typing import TypeVar

Json = dict[str, Any]
T = TypeVar("T")

DRIVERS: Final = ("gpu.example.com", "nic.example.com", "a.example.com")
REGIONS: Final = ("north", "south")
VALUES: Final = ("1", "2", "3", "4", "1500m", "0", "8")
_G: Final = 'device.attributes["gpu.example.com"]'
EXPRESSIONS: Final = (
    'device.driver == "gpu.example.com"', 'device.driver == "gpu.example.com"',
    'device.driver != "none"', "true", "true", "false",
    f"{_G}.numa == 0", f"{_G}.numa <= 1", f'{_G}.model == "a"', f"{_G}.flag",
    f'has({_G}.numa) && {_G}.numa == 1', f"{_G}.?numa.orValue(0) == 0",
    f'{_G}.?model.orValue("a") == "a"', "device.allowMultipleAllocations",
    f'{_G}.ver.isGreaterThan(semver("1.0.0"))', "nonsense", "device.driver",
    'device.capacity["gpu.example.com"].mem.compareTo(quantity("2")) >= 0',
    '"gpu.example.com" in device.attributes', f"2 in {_G}.?tags.orValue([])",
)  # fmt: skip
"""Selectors: the last ones fail on some devices, or on all."""

SAFE: Final = 6
"""How many of the expressions fail nowhere."""

NAMES: Final = ("numa", "model", "flag", "ver", "tags", "other")
TAINTS: Final = (
    {"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k", "effect": "NoExecute"},
    {"key": "x", "value": "w", "effect": "NoSchedule"}, {"key": "k", "effect": "None"},
)  # fmt: skip
TOLERATIONS: Final[tuple[Json, ...]] = (
    {"operator": "Exists"}, {"key": "k", "operator": "Exists"}, {"key": "k", "value": "v"},
    {"key": "k", "operator": "Exists", "effect": "NoSchedule"}, {"key": "x", "value": "v"},
)  # fmt: skip
GROUPS: Final[tuple[list[str], ...]] = (["a"], ["b"], ["a", "b"], [], ["b", "c"])


class Parts:
    """A source of random parts."""

    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.sets: list[Json] = []
        self.names = 0
        self.serial = 0
        self.ordered = True
        self.kind = self.pick(("rich", "rich", "plain", "same", "shared"))
        self.safe = self.chance(0.8)
        self.size = self.pick((3, 4, 6, 8))

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self.random.random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        """One of some choices."""
        return self.random.choice(choices)

    def count(self, choices: Sequence[int]) -> int:
        """One of some numbers."""
        return self.random.choice(choices)

    def some(self, choices: Sequence[T], least: int, most: int) -> list[T]:
        """Several different ones of some choices, in any order."""
        number = self.random.randint(least, most)
        return self.random.sample(list(choices), min(len(choices), number))

    def split(self, values: list[T]) -> list[list[T]]:
        """A list in one or two parts."""
        if len(values) > 1 and self.chance(0.3):
            return [values[:1], values[1:]]
        return [values] if values else []

    def nodes(self) -> list[Json]:
        """Some nodes."""
        found = []
        for number in range(self.count((1, 1, 2, 2, 3))):
            node: Json = {"metadata": {"name": f"n{number + 1}"}}
            if self.chance(0.7):
                node["metadata"]["labels"] = {"region": self.pick(REGIONS)}
            if self.chance(0.4):
                node["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
            found.append(node)
        return found

    def selectors(self, most: int) -> list[Json]:
        """Some selectors."""
        known = EXPRESSIONS[:SAFE] if self.safe else EXPRESSIONS
        return [
            {"cel": {"expression": self.pick(known)}} for _ in range(self.random.randint(0, most))
        ]

    def classes(self) -> list[Json]:
        """Device classes."""
        found = []
        for name in ("gpu", "any"):
            spec: Json = {}
            if name == "gpu":
                spec["selectors"] = [{"cel": {"expression": EXPRESSIONS[0]}}]
            if self.chance(0.2):
                spec.setdefault("selectors", []).extend(self.selectors(1))
            if self.chance(0.25):
                spec["config"] = [self.opaque(name)]
            found.append({"metadata": {"name": name}, "spec": spec})
        return found

    def opaque(self, value: str) -> Json:
        """A configuration."""
        return {"opaque": {"driver": DRIVERS[0], "parameters": {"of": value}}}

    def selector(self) -> Json:
        """A node selector."""
        one: Json = {"key": "region", "operator": "In", "values": [self.pick(REGIONS)]}
        other = self.pick((
            one, one, {"key": "region", "operator": "Exists"},
            {"key": "region", "operator": "NotIn", "values": ["south"]},
            {"key": "zone", "operator": "DoesNotExist"},
        ))  # fmt: skip
        term: Json = {"matchExpressions": [other]}
        if self.chance(0.15):
            field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
            term = {"matchFields": [field]}
        terms = [term]
        if self.chance(0.05):
            terms.append({"matchExpressions": [one]})
        return {"nodeSelectorTerms": terms}

    def place(self) -> Json:
        """Where a slice is."""
        number = self.random.random()
        if number < 0.5:
            return {"nodeName": self.pick(("n1", "n1", "n2"))}
        if number < 0.7:
            return {"allNodes": True}
        if number < 0.85:
            return {"nodeSelector": self.selector()}
        return {"perDeviceNodeSelection": True} if number < 0.97 else {}

    def device_place(self) -> Json:
        """Where a device is."""
        choices: tuple[Json, ...] = (
            {"nodeName": "n1"}, {"nodeName": "n2"}, {"allNodes": True},
            {"nodeSelector": self.selector()}, {},
        )  # fmt: skip
        return self.pick(choices)

    def devices(self) -> list[Json]:
        """Devices of a slice."""
        return [self.device() for _ in range(self.random.randint(0, self.size))]

    def device(self) -> Json:
        """A device."""
        name = f"d{self.serial}"
        if self.chance(0.985):
            self.serial += 1
        made: Json = {"name": name}
        if self.kind == "same":
            made["attributes"] = {"numa": {"int": self.count((0, 1))}}
        elif self.kind != "plain" or self.chance(0.3):
            made["attributes"] = self.attributes()
        if self.kind == "shared" or self.chance(0.15):
            self.shareable(made)
        if self.sets and self.chance(0.8):
            made["consumesCounters"] = self.consumption()
        if self.kind == "rich":
            self.extras(made)
        return made

    def extras(self, made: Json) -> None:
        """What few devices have."""
        if self.chance(0.15):
            made["taints"] = self.some(TAINTS, 1, 2)
        if self.chance(0.07):
            made["bindingConditions"] = ["ready"] if self.chance(0.8) else []
            made["bindingFailureConditions"] = ["broken"]
        if self.chance(0.06):
            made["bindsToNode"] = True

    def attributes(self) -> Json:
        """Attributes of a device."""
        made: Json = {}
        for name in self.some(NAMES, 1, 6):
            key = f"gpu.example.com/{name}" if self.chance(0.12) else name
            if self.chance(0.02):
                continue
            made[key] = self.attribute(name)
        return made

    def attribute(self, name: str) -> Json:
        """A value."""
        if name == "tags" or self.chance(0.04):
            kind = self.pick(("ints", "ints", "strings"))
            values: list[Any] = self.some((1, 2, 3), 1, 2) if kind == "ints" else ["a", "b"]
            return {kind: values}
        if self.chance(0.01):
            return {}
        other = {"string": self.pick(("0", "1"))} if self.chance(0.5) else {"int": 1}
        known: Json = {
            "numa": {"int": self.count((0, 0, 1, 2))},
            "model": {"string": self.pick(("a", "a", "b"))},
            "flag": {"bool": self.chance(0.6)},
            "ver": {"version": self.pick(("1.0.0", "1.2.0", "1.0.0+b"))},
        }
        made: Json = known.get(name, other)
        return made

    def shareable(self, made: Json) -> None:
        """Capacities, and whether they can be shared."""
        if self.chance(0.8):
            made["allowMultipleAllocations"] = self.chance(0.85)
        if self.chance(0.85):
            made["capacity"] = {name: self.capacity() for name in self.some(("mem", "bw"), 1, 2)}

    def capacity(self) -> Json:
        """One capacity."""
        made: Json = {"value": self.pick(("2", "4", "5", "8", "4500m"))}
        number = self.random.random()
        if number < 0.3:
            reach: Json = {"min": self.pick(("1", "2", "500m"))}
            if self.chance(0.7):
                reach["step"] = self.pick(("1", "2", "500m"))
            if self.chance(0.5):
                reach["max"] = self.pick(("4", "3"))
            made["requestPolicy"] = {"validRange": reach}
        elif number < 0.5:
            made["requestPolicy"] = {"validValues": sorted(self.some(("1", "2", "3", "4"), 1, 3))}
        if "requestPolicy" in made and self.chance(0.8):
            made["requestPolicy"]["default"] = self.pick(("1", "2", "500m", "8"))
        return made

    def counter_sets(self) -> list[Json]:
        """Counter sets of a pool."""
        return [
            {
                "name": name if self.chance(0.98) else "s1",
                "counters": {
                    one: {"value": self.pick(("4", "6", "8", "1"))} for one in ("m", "c")[: i + 1]
                },
            }
            for i, name in enumerate(("s1", "s2")[: self.count((1, 1, 2))])
        ]

    def consumption(self) -> list[Json]:
        """What a device takes of counters."""
        found = []
        for one in self.some(self.sets, 1, 2):
            name = one["name"] if self.chance(0.99) else "unknown"
            counters = {
                key: {"value": self.pick(("1", "2", "2", "3", "500m"))} for key in one["counters"]
            }
            made: Json = {"counterSet": name, "counters": counters}
            if self.chance(0.2):
                made["compatibilityGroups"] = self.pick(GROUPS)
            found.append(made)
        return found

    def claim(self, name: str) -> Json:
        """A claim."""
        requests = [self.request(f"r{i}") for i in range(self.count((1, 1, 1, 2, 2, 3)))]
        devices: Json = {"requests": requests}
        names = [one["name"] for one in requests] + [
            f"{one['name']}/{sub['name']}"
            for one in requests
            for sub in one.get("firstAvailable") or ()
        ]
        if self.chance(0.3):
            devices["constraints"] = [self.constraint(names) for _ in range(self.count((1, 1, 2)))]
        if self.chance(0.2):
            devices["config"] = [
                {**self.opaque(f"x{i}"), **self.about(names)} for i in range(self.count((1, 2)))
            ]
        return {
            "metadata": {"name": name, "namespace": "default"}, "spec": {"devices": devices}
        }  # fmt: skip

    def about(self, names: list[str]) -> Json:
        """Which requests something is for."""
        return {"requests": self.some(names, 1, 2)} if self.chance(0.4) else {}

    def constraint(self, names: list[str]) -> Json:
        """A constraint."""
        kind = self.pick(("matchAttribute", "matchAttribute", "distinctAttribute"))
        domain = self.pick(("gpu.example.com",) * 6 + ("nic.example.com",))
        made: Json = {kind: f"{domain}/{self.pick(NAMES)}", **self.about(names)}
        return made if self.chance(0.99) else {}

    def request(self, name: str) -> Json:
        """A request."""
        if self.chance(0.25):
            subs = [
                {"name": f"s{i}", **self.wish(name, sub=True)} for i in range(self.count((1, 2, 3)))
            ]
            return {"name": name, "firstAvailable": subs}
        return {"name": name, "exactly": self.wish(name, sub=False)}

    def wish(self, name: str, *, sub: bool) -> Json:
        """What is wanted."""
        made: Json = {"deviceClassName": self.pick(("gpu", "gpu", "any"))}
        if self.chance(0.01):
            made["deviceClassName"] = "missing"
        if self.chance(0.2):
            made["selectors"] = self.selectors(2)
        if self.chance(0.1):
            made["allocationMode"] = "All" if self.chance(0.97) else "Other"
        elif self.chance(0.5):
            made["count"] = self.count((1, 1, 1, 2, 2, 3, 17 if self.chance(0.1) else 1))
        if not sub and self.chance(0.08):
            made["adminAccess"] = self.chance(0.85)
        if self.chance(0.25):
            made["tolerations"] = self.some(TOLERATIONS, 1, 2)
        if self.chance(0.45 if self.kind == "shared" else 0.04):
            wanted = self.some(("mem", "bw") if self.chance(0.9) else ("more",), 1, 2)
            made["capacity"] = {"requests": {one: self.pick(VALUES) for one in wanted}}
        if self.chance(0.03):
            expression = self.pick((
                f"{_G}.numa", f"{_G}.?numa.orValue(7)", f'"x" + {_G}.?model.orValue("q")',
                f"{_G}.?tags.orValue([1])", "broken", "device.driver",
            ))  # fmt: skip
            attribute = f"gpu.example.com/{self.pick(NAMES)}"
            made["derivedAttributes"] = [{"name": attribute, "expression": expression}]
        return made

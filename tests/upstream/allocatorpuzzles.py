"""Random puzzles: many devices that are alike, and claims that hardly fit or do not.

Small enough for Kubernetes' allocator to come to an answer.
"""

from __future__ import annotations

import random
from typing import Any
from typing import Final

Json = dict[str, Any]

_DRIVER: Final = "gpu.example.com"


def scenario(seed: int) -> Json:
    """The scenario of a seed."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    kinds = draw.choice((1, 1, 2, 2, 3))
    counted = draw.random() < 0.4
    shared = draw.random() < 0.2
    devices = [
        _device(draw, number, kinds, counted=counted, shared=shared)
        for number in range(draw.randint(3, 9))
    ]
    count = 2 if counted else 1
    slices = [slice_of("b", count, {"devices": devices})]
    if counted:
        counters = {"m": {"value": str(draw.randint(3, 12))}}
        sets = [{"name": "s", "counters": counters}]
        slices.append(slice_of("a", count, {"sharedCounters": sets}))
    made: Json = {
        "id": f"q{seed}",
        "profile": draw.choice(("default", "all")),
        "nodes": [{"metadata": {"name": "n1"}}],
        "deviceClasses": [{"metadata": {"name": "gpu"}, "spec": {}}],
        "resourceSlices": slices,
        "claims": [_claim(draw, f"c{i}", kinds) for i in range(draw.choice((1, 1, 2)))],
    }
    if draw.random() < 0.2:
        made["allocatedClaims"] = [_held(draw.choice(devices), shared=shared)]
    return made


def _held(device: Json, *, shared: bool) -> Json:
    result: Json = {"request": "r", "driver": _DRIVER, "pool": "p", "device": device["name"]}
    if shared:
        result["shareID"] = "00000000-0000-0000-0000-000000000001"
        result["consumedCapacity"] = {"mem": "1"}
    allocation = {"devices": {"results": [result]}}
    return {"metadata": {"name": "held"}, "spec": {}, "status": {"allocation": allocation}}


def slice_of(name: str, count: int, more: Json) -> Json:
    """A slice of the pool p on n1, which has so many."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": count}
    spec = {"driver": _DRIVER, "pool": pool, "nodeName": "n1", **more}
    return {"metadata": {"name": name}, "spec": spec}


def _device(draw: random.Random, number: int, kinds: int, *, counted: bool, shared: bool) -> Json:
    kind = draw.randrange(kinds)
    made: Json = {
        "name": f"d{number}",
        "attributes": {
            "kind": {"int": kind},
            "group": {"int": draw.randrange(2)},
            "index": {"int": number},
            "tags": {"ints": draw.sample((1, 2, 3), draw.randint(1, 2))},
        },
    }
    if counted and draw.random() < 0.9:
        value = str(draw.choice((1, 2, 2, kind + 1)))
        one: Json = {"counterSet": "s", "counters": {"m": {"value": value}}}
        made["consumesCounters"] = [one]
    if shared:
        made["allowMultipleAllocations"] = draw.random() < 0.7
        made["capacity"] = {"mem": {"value": str(draw.randint(1, 3))}}
    if draw.random() < 0.05:
        made["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    return made


def _claim(draw: random.Random, name: str, kinds: int) -> Json:
    requests: list[Json] = []
    for number in range(draw.choice((1, 2, 2, 3))):
        wish = _wish(draw, kinds)
        if draw.random() < 0.2:
            subs = [{"name": f"s{i}", **_wish(draw, kinds)} for i in range(2)]
            requests.append({"name": f"r{number}", "firstAvailable": subs})
        else:
            if draw.random() < 0.08:
                wish["adminAccess"] = True
            requests.append({"name": f"r{number}", "exactly": wish})
    devices: Json = {"requests": requests}
    if draw.random() < 0.55:
        devices["constraints"] = [
            _constraint(draw, several=len(requests) > 1) for _ in range(draw.choice((1, 1, 2)))
        ]
    return {"metadata": {"name": name}, "spec": {"devices": devices}}


def _constraint(draw: random.Random, *, several: bool) -> Json:
    kind = draw.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
    name = draw.choice(("group", "group", "kind", "index", "tags"))
    made: Json = {kind: f"{_DRIVER}/{name}"}
    if draw.random() < 0.3 and several:
        made["requests"] = ["r0", "r1"]
    return made


def _wish(draw: random.Random, kinds: int) -> Json:
    made: Json = {"deviceClassName": "gpu", "count": draw.choice((1, 1, 2, 2, 3, 4, 5))}
    if draw.random() < 0.3:
        attribute = f'device.attributes["{_DRIVER}"].kind'
        made["selectors"] = [{"cel": {"expression": f"{attribute} == {draw.randrange(kinds)}"}}]
    if draw.random() < 0.05:
        made["allocationMode"] = "All"
        del made["count"]
    if draw.random() < 0.1:
        made["capacity"] = {"requests": {"mem": "1"}}
    return made

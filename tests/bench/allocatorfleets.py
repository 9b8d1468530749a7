"""Clusters and claims of the allocator's figures: the same as the oracle's own measurements."""

from __future__ import annotations

from typing import Any
from typing import Final

Json = dict[str, Any]

DRIVER: Final = "gpu.example.com"
FIELD: Final = f'device.attributes["{DRIVER}"]'
CLASSES: Final[dict[str, Json]] = {"gpu": {"metadata": {"name": "gpu"}, "spec": {}}}

LARGE_POOL: Final = 79
"""Slices of the pool with the most devices on one node."""

SLICE_MAX: Final = 128
"""Devices of one slice."""


def device(number: int, **more: Any) -> Json:
    """A device."""
    attributes = {
        "model": {"string": f"m{number % 2}"},
        "numa": {"int": number % 2},
        "index": {"int": number},
    }
    capacity = {"memory": {"value": "40Gi"}}
    return {"name": f"dev-{number}", "attributes": attributes, "capacity": capacity, **more}


def slice_of(
    node: str, pool: str, name: str, devices: list[Json], *, count: int = 1, **more: Any
) -> Json:
    """A slice."""
    about = {"name": pool, "generation": 1, "resourceSliceCount": count}
    spec = {"driver": DRIVER, "pool": about, "nodeName": node, "devices": devices, **more}
    return {"metadata": {"name": name}, "spec": spec}


def request(name: str, count: int, *expressions: str, mode: str = "ExactCount") -> Json:
    """A request."""
    wish: Json = {"deviceClassName": "gpu", "allocationMode": mode, "count": count}
    wish["selectors"] = [{"cel": {"expression": one}} for one in expressions]
    return {"name": name, "exactly": wish}


def claim(name: str, *requests: Json, **more: Any) -> Json:
    """A claim."""
    devices = {"requests": list(requests), **more}
    metadata = {"name": name, "namespace": "default"}
    return {"metadata": metadata, "spec": {"devices": devices}}


def fleet(nodes: int, devices: int, *, differ: bool = False) -> tuple[list[Json], list[Json]]:
    """Nodes, and for each a slice; ``differ`` gives every device a value of its own."""
    names = [f"node-{number:05d}" for number in range(nodes)]
    slices = []
    for name in names:
        listed = [device(number) for number in range(devices)]
        if differ:
            for one in listed:
                one["attributes"]["uuid"] = {"string": f"{name}-{one['name']}"}
        slices.append(slice_of(name, name, f"slice-{name}", listed))
    return [{"metadata": {"name": name}} for name in names], slices


Case = tuple[list[Json], list[Json], Json]
"""Nodes, slices and a claim."""


def one_node(slices: list[Json], wanted: Json) -> Case:
    """A case with the node ``n``."""
    return [{"metadata": {"name": "n"}}], slices, wanted


def grouped(requests: int, per: int, groups: int) -> Case:
    """Requests under one constraint, over groups that are one device short."""
    listed: list[Json] = []
    for group in range(groups):
        for _ in range(requests * per - 1):
            made = device(len(listed))
            made["attributes"]["group"] = {"int": group}
            listed.append(made)
    wanted = [request(f"r{number}", per) for number in range(requests)]
    same = [{"matchAttribute": f"{DRIVER}/group"}]
    return one_node([slice_of("n", "n", "s", listed)], claim("c", *wanted, constraints=same))


def counted(budget: int, count: int, costs: list[int]) -> Case:
    """Partitions that take of one counter."""
    listed = []
    for number, cost in enumerate(costs):
        taken = {"counterSet": "set", "counters": {"mem": {"value": str(cost)}}}
        listed.append(device(number, consumesCounters=[taken]))
    sets = [{"name": "set", "counters": {"mem": {"value": str(budget)}}}]
    slices = [
        slice_of("n", "n", "s", listed, count=2),
        slice_of("n", "n", "counters", [], count=2, sharedCounters=sets),
    ]
    return one_node(slices, claim("c", request("r", count)))


def large(*expressions: str) -> Case:
    """One pool with ten thousand devices."""
    slices = [
        slice_of(
            "n", "pool", f"slice-{number:03d}",
            [device(number * SLICE_MAX + one) for one in range(SLICE_MAX)], count=LARGE_POOL,
        )
        for number in range(LARGE_POOL)
    ]  # fmt: skip
    return one_node(slices, claim("c", request("r", 1, *expressions)))


def cases() -> dict[str, Case]:
    """Cases by the labels under which the oracle measures them."""
    found: dict[str, Case] = {}
    nodes, slices = fleet(500, 8)
    for label, expressions in (
        ("a1 500x8, 1 device, selector matches dev-0", [f"{FIELD}.numa == 0"]),
        ("a2 500x8, 1 device, selector matches none", [f'{FIELD}.model == "absent"']),
        ("a3 500x8, 1 device, no selector", []),
    ):
        found[label] = nodes, slices, claim("c", request("r", 1, *expressions))
    for number in (15, 19, 22, 31):
        few, some = fleet(1, number)
        label = f"c  {number + 1} of {number} identical devices"
        found[label] = few, some, claim("c", request("r", number + 1))
    for requests, per, groups in ((4, 2, 2), (4, 2, 3), (4, 3, 2), (4, 4, 2)):
        label = f"d  {requests} requests of {per}, {groups} groups of {requests * per - 1}"
        found[label] = grouped(requests, per, groups)
    costs = [20] + [10] * 7
    found["e  7 of 8, first costs 20, others 10, budget 70"] = counted(70, 7, costs)
    for number in (16, 20, 24):
        half = number // 2
        label = f"e  {half} of {number} equal partitions, budget for {half - 1}"
        found[label] = counted(number - 1, half, [2] * number)
    label = "e  9 of 20 small + 1 large, budget for 8 small"
    found[label] = counted(8, 9, [1] * 20 + [12])
    few, some = fleet(1, 128)
    for number in (32, 128):
        every = request("r", 0, f"{FIELD}.index < {number}", mode="All")
        found[f"f  all mode, {number} of 128 devices match"] = few, some, claim("c", every)
    total = LARGE_POOL * SLICE_MAX
    label = f"g  {total} devices on one node"
    found[f"{label}, the last matches"] = large(f"{FIELD}.index == {total - 1}")
    found[f"{label}, no selector (conversion only)"] = large()
    nodes, slices = fleet(20, 8)
    for number in (10, 11):
        expressions = [f"{FIELD}.index >= {-one}" for one in range(number)]
        label = f"h  20x8, 1 device, {number} distinct selectors (cache holds 10)"
        found[label] = nodes, slices, claim("c", request("r", 1, *expressions))
    return found

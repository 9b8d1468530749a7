"""Small objects for tests of the allocator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_dra.allocator import Attempt
from pytest_dra.allocator import Index
from pytest_dra.allocator import Rules
from pytest_dra.allocator import State
from pytest_dra.allocator import rules

Json = dict[str, Any]

DRIVER = "gpu.example.com"
NODE: Json = {"metadata": {"name": "n1"}}
CLASSES: dict[str, Json] = {"gpu": {"metadata": {"name": "gpu"}, "spec": {}}}


def device(name: str, attributes: Json | None = None, **more: Any) -> Json:
    """A device with attributes that are numbers or texts."""
    shown = {
        key: {"int" if isinstance(value, int) else "string": value}
        for key, value in (attributes or {}).items()
    }
    return {"name": name, "attributes": shown, **more}


def pool(name: str, devices: Sequence[Json], **more: Any) -> Json:
    """A slice that is a whole pool."""
    about = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": about, "nodeName": "n1", "devices": list(devices), **more}
    return {"metadata": {"name": f"slice-{name}"}, "spec": spec}


def counted(devices: Sequence[Json], budget: str) -> list[Json]:
    """The two slices of a pool whose devices share a counter ``m`` of the set ``s``."""
    first, second = pool("p", devices), pool("p", [])
    second["metadata"]["name"] = "slice-counters"
    second["spec"]["sharedCounters"] = [{"name": "s", "counters": {"m": {"value": budget}}}]
    for one in (first, second):
        one["spec"]["pool"]["resourceSliceCount"] = 2
    return [first, second]


def takes(amount: str) -> list[Json]:
    """What a device takes of the counter."""
    return [{"counterSet": "s", "counters": {"m": {"value": amount}}}]


def request(name: str, count: int = 1, expression: str = "", **more: Any) -> Json:
    """A request."""
    wish: Json = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **more}
    if expression:
        wish["selectors"] = [{"cel": {"expression": expression}}]
    return {"name": name, "exactly": wish}


def claim(*requests: Json, name: str = "c", **more: Any) -> Json:
    """A claim."""
    devices = {"requests": list(requests), **more}
    return {"metadata": {"name": name}, "spec": {"devices": devices}}


def attempt(
    slices: Sequence[Json], *claims: Json, state: State | None = None,
    current: Rules | None = None, **more: Any,
) -> Attempt:  # fmt: skip
    """An attempt to allocate claims."""
    current = current or rules()
    index = Index(slices, current)
    return Attempt(index, state or State(current), CLASSES, claims, **more)


def picked(results: Sequence[Json]) -> list[str]:
    """Names of the devices in results."""
    return [one["device"] for result in results for one in result["devices"]["results"]]

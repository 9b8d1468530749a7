"""Small clusters for schedulers: nodes with devices, claims, pods."""

from __future__ import annotations

import itertools
from typing import Any

from pytest_dra.allocator import Rules
from pytest_dra.allocator import rules
from pytest_dra.explaining import Explanation
from pytest_dra.explaining import explain
from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import subjects
from pytest_dra.spec import Json
from tests.objects.sample import DRIVER
from tests.objects.sample import device
from tests.objects.sample import device_class
from tests.objects.sample import resource_slice

RULES = rules("1.37")

LARGE = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'


def node(name: str, **spec: Any) -> Json:
    return {"kind": "Node", "metadata": {"name": name}, "spec": spec}


def gpus(name: str, devices: list[Json]) -> Json:
    """The slice of a node."""
    return resource_slice(f"{name}-gpu", name, devices=devices)


def gpu(name: str, memory: str = "80Gi", **more: Any) -> Json:
    return device(name, capacity={"memory": {"value": memory}}, **more)


def request(name: str = "gpu", count: int = 1, **exactly: Any) -> Json:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **exactly}
    return {"name": name, "exactly": exactly}


def selectors(*expressions: str) -> list[Json]:
    return [{"cel": {"expression": one}} for one in expressions]


def claim(name: str, *requests: Json, **devices: Any) -> Json:
    spec = {"devices": {"requests": list(requests or (request(),)), **devices}}
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def held(name: str, pool: str, *devices: str, by: str = "") -> Json:
    """A claim that has devices, reserved for a pod."""
    results = [{"request": "gpu", "driver": DRIVER, "pool": pool, "device": one} for one in devices]
    status: Json = {"allocation": {"devices": {"results": results}}}
    if by:
        status["reservedFor"] = [{"resource": "pods", "name": by, "uid": by}]
    return {**claim(name), "status": status}


def pod(name: str, *claims: str, **spec: Any) -> Json:
    entries = [{"name": one, "resourceClaimName": one} for one in claims]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [{"name": "main"}], "resourceClaims": entries, **spec},
    }


def scheduler(*objects: Json, rules: Rules = RULES) -> Scheduler:
    return Scheduler(Cluster([device_class(), *objects]), rules)


def explained(*objects: Json, rules: Rules = RULES) -> Explanation:
    """The explanation of the last pod, or of the last claim if there is none."""
    made = scheduler(*objects, rules=rules)
    pods = list(made.cluster.pods.values())
    if pods:
        return explain(made, subjects.of_pod(pods[-1], made.cluster))
    return explain(made, subjects.of_claim(list(made.cluster.claims.values())[-1]))


def numbered(count: int, **more: Any) -> list[Json]:
    """Devices that are all alike."""
    return [gpu(f"gpu-{number}", **more) for number in itertools.islice(itertools.count(), count)]

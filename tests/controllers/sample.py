"""A small cluster with two nodes, and a scheduler loop in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pytest_dra.allocator import rules
from pytest_dra.api.resources import DEVICE_CLASSES
from pytest_dra.api.resources import NODES
from pytest_dra.api.resources import PODS
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.controllers.leading import Leader
from pytest_dra.controllers.scheduling import NAME
from pytest_dra.controllers.scheduling import SchedulerLoop
from pytest_dra.kube import Client
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.objects.sample import claim
from tests.objects.sample import device
from tests.objects.sample import device_class
from tests.objects.sample import resource_slice

PATIENCE_S = 10.0


def fill(client: Client) -> None:
    """Two nodes with a device each, and a class."""
    for name in ("node-a", "node-b"):
        uid = client.create(NODES, {"metadata": {"name": name}})["metadata"]["uid"]
        # A new node is tainted until its kubelet is ready.
        client.patch(NODES, name, {"spec": {"taints": None}})
        made = resource_slice(f"{name}-gpu", name, devices=[device("gpu-0")])
        made["metadata"]["ownerReferences"][0]["uid"] = uid
        client.create(RESOURCE_SLICES, made)
    client.create(DEVICE_CLASSES, device_class())


def add_claim(client: Client, name: str) -> Json:
    body = claim()
    body["metadata"] = {"name": name}
    return client.create(RESOURCE_CLAIMS, body, namespace="default")


def add_pod(
    client: Client, name: str, claims: list[str], scheduler: str = NAME, **spec: Any
) -> Json:
    entries = [{"name": one, "resourceClaimName": one} for one in claims]
    used = {"claims": [{"name": one} for one in claims]}
    container = {"name": "main", "image": "example.com/main", "resources": used}
    body = {
        "metadata": {"name": name},
        "spec": {
            "schedulerName": scheduler,
            "containers": [container],
            "resourceClaims": entries,
            **spec,
        },
    }
    return client.create(PODS, body, namespace="default")


class Running:
    """A loop in a thread of its own."""

    def __init__(self, client: Client, leader: Leader | None = None) -> None:
        self.loop = SchedulerLoop(client, rules("1.37"), leader=leader)
        self._thread = threading.Thread(target=self.loop.run, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def eventually(look: Callable[[], Any]) -> Any:
    found = poll(look, Deadline.after(PATIENCE_S))
    assert found
    return found


def node_of(client: Client, name: str) -> str:
    found: str = client.get(PODS, name, namespace="default")["spec"].get("nodeName", "")
    return found


def allocation(client: Client, name: str) -> Json:
    made = client.get(RESOURCE_CLAIMS, name, namespace="default")
    found: Json = (made.get("status") or {}).get("allocation") or {}
    return found


def unschedulable(client: Client, name: str) -> str:
    """Why a pod is said to have no node."""
    status = client.get(PODS, name, namespace="default").get("status") or {}
    for one in status.get("conditions") or ():
        if one["type"] == "PodScheduled" and one["status"] == "False":
            return str(one["message"])
    return ""

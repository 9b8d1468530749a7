"""The pods of a driver: whose they are, where they are, and what they are doing, in words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pytest_dra.checks.workloads import Workload
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment

LOG_LINES: Final = 50
"""Last lines of each container's output that are kept with a failure."""


def owned_by(pods: Sequence[Json], owners: Sequence[Workload]) -> list[Json]:
    """Those that these workloads have made."""
    names = {(each.namespace, each.item["metadata"]["name"]) for each in owners}
    return [
        each
        for each in pods
        for owner in each["metadata"].get("ownerReferences") or ()
        if (each["metadata"]["namespace"], owner["name"]) in names
    ]


def on_node(pods: Sequence[Json], node: str) -> Json:
    """The one on a node.

    Raises:
        UnsupportedEnvironment: there is none.
    """
    for each in pods:
        if each["spec"].get("nodeName") == node:
            return each
    raise UnsupportedEnvironment(
        f"there is no plugin's pod on node {node}", way_out="see why it is not there"
    )


def told(pods: Sequence[Json]) -> str:
    """Phases and containers."""
    found = []
    for pod in pods:
        states = [
            f"{name}: {about.get('reason') or about.get('startedAt')}"
            for each in pod["status"].get("containerStatuses") or ()
            for name, about in (each.get("state") or {}).items()
        ]
        found.append(f"pod {pod['metadata']['name']} {pod['status']['phase']} {states}")
    return "; ".join(found) or "no pod of the driver"


def log_of(client: Client, pods: Sequence[Json]) -> str:
    """The end of the output of their containers; of those that have any."""
    parts = []
    for pod in pods:
        metadata = pod["metadata"]
        for container in pod["spec"]["containers"]:
            with suppress(KubeError):
                text = client.log(
                    metadata["namespace"], metadata["name"], container["name"], lines=LOG_LINES
                )
                parts.append(f"--- {metadata['name']} {container['name']}\n{text}")
    return "\n".join(parts)


def name_of(pod: Json) -> str:
    """Its kind, namespace and name."""
    return f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"


def is_ready(pod: Json) -> bool:
    """Whether its condition says so."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

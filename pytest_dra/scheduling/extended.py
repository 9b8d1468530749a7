"""Extended resources that device classes stand for: the claim that a scheduler makes of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.api.quantity import NANO
from pytest_dra.api.quantity import Quantity

Json = dict[str, Any]

IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""What stands before a class's name in the resource that each class has."""

ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
"""Marks the generated claim."""

SUFFIX: Final = "extended-resources"
"""End of the generated claim's name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Devices of a class that one container wants under the name of a resource."""

    container: str
    place: int
    resource: str
    class_name: str
    count: int


def containers(pod: Json) -> list[Json]:
    """All containers of a pod, those that initialise it first."""
    spec = pod.get("spec") or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def by_resource(classes: Mapping[str, Json]) -> dict[str, str]:
    """Names of classes by the resource that they stand for: the newest one where several do."""
    found: dict[str, str] = {}
    born: dict[str, tuple[str, str]] = {}
    for name, one in classes.items():
        found[f"{IMPLICIT_PREFIX}{name}"] = name
        resource = (one.get("spec") or {}).get("extendedResourceName")
        if not resource:
            continue
        created = str((one.get("metadata") or {}).get("creationTimestamp") or "")
        # Of two of the same age the one whose name sorts first.
        if resource not in born or created > born[resource][0] or (
            created == born[resource][0] and name < born[resource][1]
        ):  # fmt: skip
            found[resource], born[resource] = name, (created, name)
    return found


def wanted(pod: Json, resources: Mapping[str, str]) -> Iterator[Wanted]:
    """What a pod wants by extended resources, of a table as :func:`by_resource` makes it."""
    for place, container in enumerate(containers(pod)):
        asked = container.get("resources") or {}
        requests = {**(asked.get("limits") or {}), **(asked.get("requests") or {})}
        for resource in sorted(requests):
            if resource in resources:
                count = Quantity.parse(requests[resource]).nanos // NANO
                if count > 0:
                    name = str(container.get("name") or "")
                    yield Wanted(name, place, resource, resources[resource], count)


def plugged(node: Json, resource: str) -> bool:
    """True if a device plugin offers a resource on a node."""
    amount = ((node.get("status") or {}).get("allocatable") or {}).get(resource)
    return amount is not None and Quantity.parse(amount).nanos > 0


def backed(found: Iterable[Wanted], node: Json) -> list[Wanted]:
    """What devices have to serve on a node, because no device plugin does."""
    return [one for one in found if not plugged(node, one.resource)]


def named(found: list[Wanted]) -> list[tuple[str, Wanted]]:
    """What is wanted by the name of its request."""
    counts: dict[int, int] = {}
    made = []
    for one in found:
        number = counts.get(one.place, 0)
        counts[one.place] = number + 1
        made.append((f"container-{one.place}-request-{number}", one))
    return made


def mappings(found: list[Wanted]) -> list[Json]:
    """Which request serves which container, as the status of the pod says it."""
    return [
        {"containerName": one.container, "resourceName": one.resource, "requestName": name}
        for name, one in named(found)
    ]


def claim_for(pod: Json, found: list[Wanted]) -> Json:
    """The claim that a scheduler makes for what a pod wants on a node."""
    meta = pod.get("metadata") or {}
    requests = []
    for name, one in named(found):
        exactly = {
            "deviceClassName": one.class_name,
            "allocationMode": "ExactCount",
            "count": one.count,
        }
        requests.append({"name": name, "exactly": exactly})
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": f"{meta.get('name')}-{SUFFIX}",
            "namespace": meta.get("namespace") or "default",
            "annotations": {ANNOTATION: "true"},
        },
        "spec": {"devices": {"requests": requests}},
    }


def is_made(claim: Json) -> bool:
    """True for a claim that a scheduler has made."""
    return ANNOTATION in ((claim.get("metadata") or {}).get("annotations") or {})

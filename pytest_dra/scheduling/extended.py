"""Extended resources that device classes stand for: the claim that a scheduler makes of them.

A pod that asks for such a resource gets one more claim, the last one. Source: kube-scheduler
1.37.2, plugin DynamicResources, read; ``tests/scheduling/test_extended.py`` has the facts.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.api.quantity import QuantityError

Json = dict[str, Any]

IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""What stands before a class's name in the resource that each class has."""

ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
"""Marks the generated claim."""

SUFFIX: Final = "extended-resources"
"""End of the generated claim's name."""


def containers(pod: Json) -> list[Json]:
    """All containers of a pod, those that initialise it first."""
    spec = pod.get("spec") or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def asked_by(container: Json) -> dict[str, Any]:
    """What a container requests; a server takes the limit of what has no request."""
    resources = container.get("resources") or {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


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


def wanted(pod: Json, classes: Mapping[str, str]) -> list[str]:
    """Resources of a pod that have a class, of a table as :func:`by_resource` makes it."""
    found = {
        name
        for container in containers(pod)
        for name, amount in asked_by(container).items()
        if name in classes and _whole(amount)
    }
    return sorted(found)


def plugged(node: Json, resource: str) -> bool:
    """True if a device plugin offers a resource on a node."""
    amount = ((node.get("status") or {}).get("allocatable") or {}).get(resource)
    return amount is not None and Quantity.parse(amount).nanos > 0


def backed(resources: Iterable[str], node: Json) -> tuple[str, ...]:
    """The resources that devices have to serve on a node, because no device plugin does."""
    return tuple(one for one in resources if not plugged(node, one))


def claim_for(pod: Json, resources: Collection[str], classes: Mapping[str, str]) -> Json:
    """The claim that a scheduler makes for the resources that devices serve on a node."""
    meta = pod.get("metadata") or {}
    requests, _ = requests_of(pod, resources, classes)
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


def requests_of(
    pod: Json, resources: Iterable[str], classes: Mapping[str, str]
) -> tuple[list[Json], list[Json]]:
    """Requests for the extended resources of a pod, and which container uses which of them.

    A mapping has ``containerName``, ``resourceName`` and ``requestName``, as the status of the
    pod says it.
    """
    early = len((pod.get("spec") or {}).get("initContainers") or ())
    requests: list[Json] = []
    mappings: list[Json] = []
    for resource in sorted(resources):
        uses = _Uses(resource, classes[resource], containers(pod), early)
        requests += uses.requests
        mappings += uses.mappings
    return sorted(requests, key=lambda one: str(one["name"])), mappings


class _Uses:
    """Requests for one resource. Init containers use those of the containers behind them."""

    def __init__(
        self, resource: str, class_name: str, pod_containers: Sequence[Json], early: int
    ) -> None:
        self.resource = resource
        self.class_name = class_name
        self.containers = pod_containers
        passing = [
            place
            for place in range(early)
            if pod_containers[place].get("restartPolicy") != "Always"
        ]
        lasting: list[Json | None] = [None] * len(pod_containers)
        self.mappings: list[Json] = []
        for place in range(len(pod_containers)):
            if place not in passing:
                lasting[place] = self._request(place, ())
        self._pass(passing, lasting)

    def _pass(self, passing: Sequence[int], lasting: Sequence[Json | None]) -> None:
        """The largest request of the containers that end is for all of them."""
        start = len(self.mappings)
        made = [self._request(place, lasting[place:]) for place in passing]
        own = [one for one in made if one is not None]
        largest = max(own, key=_count, default=None)
        names = {one["name"] for one in own}
        for mapping in self.mappings[start:]:
            if largest is not None and mapping["requestName"] in names:
                mapping["requestName"] = largest["name"]
        kept = [one for one in lasting if one is not None]
        self.requests = kept if largest is None else [largest, *kept]

    def _request(self, place: int, reusable: Sequence[Json | None]) -> Json | None:
        asked = asked_by(self.containers[place])
        amount = _whole(asked.get(self.resource))
        had = 0
        for one in reusable:
            if amount and one is not None:
                had += _count(one)
                self._map(place, one["name"])
                if had >= amount:
                    return None
        if not amount:
            return None
        name = f"container-{place}-request-{sorted(asked).index(self.resource)}"
        self._map(place, name)
        wish = {
            "deviceClassName": self.class_name,
            "allocationMode": "ExactCount",
            "count": amount - had,
        }
        return {"name": name, "exactly": wish}

    def _map(self, place: int, request: str) -> None:
        self.mappings.append({
            "containerName": self.containers[place].get("name"),
            "resourceName": self.resource,
            "requestName": request,
        })  # fmt: skip


def _count(request: Json) -> int:
    count: int = request["exactly"]["count"]
    return count


def _whole(value: Any) -> int:
    """A number of devices; what is no whole number asks for none."""
    try:
        return 0 if value is None else Quantity.parse(value).as_int64() or 0
    except QuantityError:
        return 0

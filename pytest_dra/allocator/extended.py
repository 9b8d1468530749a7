"""Extended resources that device classes stand for: the requests that a scheduler makes of them.

A pod that asks for such a resource gets one more claim, the last one, with these requests. Source:
behaviour of kube-scheduler 1.37, read in its source, since it needs a running scheduler.
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

CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""Before the name of a class, the resource that each class stands for without being asked."""


def class_of(resource: str, classes: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The class for an extended resource: the newest that names it, then the first by name."""
    found = []
    for one in classes:
        metadata = one.get("metadata") or {}
        name = metadata.get("name") or ""
        if resource == f"{CLASS_PREFIX}{name}":
            return one
        if (one.get("spec") or {}).get("extendedResourceName") == resource:
            found.append((str(metadata.get("creationTimestamp") or ""), name, one))
    if not found:
        return None
    newest = max(made for made, _, _ in found)
    return min((one for one in found if one[0] == newest), key=lambda one: one[1])[2]


def requests_of(
    pod: Mapping[str, Any], classes: Sequence[Mapping[str, Any]],
    resources: Collection[str] | None = None,
) -> tuple[list[Json], list[Json]]:  # fmt: skip
    """Requests for the extended resources of a pod, and which container uses which of them.

    ``resources`` are those that the node cannot serve otherwise, None for all that have a class.
    A mapping has ``containerName``, ``resourceName`` and ``requestName``.
    """
    spec = pod.get("spec") or {}
    early = [*(spec.get("initContainers") or ())]
    containers = [*early, *(spec.get("containers") or ())]
    asked = {name for one in containers for name in _asked(one)}
    requests: list[Json] = []
    mappings: list[Json] = []
    for resource in sorted(asked if resources is None else asked.intersection(resources)):
        found = class_of(resource, classes)
        if found is not None:
            uses = _Uses(resource, found["metadata"]["name"], containers, len(early))
            requests += uses.requests
            mappings += uses.mappings
    return sorted(requests, key=lambda one: str(one["name"])), mappings


def _asked(container: Mapping[str, Any]) -> dict[str, Any]:
    return (container.get("resources") or {}).get("requests") or {}


class _Uses:
    """Requests for one resource. Init containers use those of the containers behind them."""

    def __init__(
        self, resource: str, class_name: str, containers: Sequence[Mapping[str, Any]], early: int
    ) -> None:
        self.resource = resource
        self.class_name = class_name
        self.containers = containers
        passing = [
            place for place in range(early) if containers[place].get("restartPolicy") != "Always"
        ]
        lasting: list[Json | None] = [None] * len(containers)
        self.mappings: list[Json] = []
        for place in range(len(containers)):
            if place not in passing:
                lasting[place] = self._request(place, ())
        self._pass(passing, lasting)

    def _pass(self, passing: Sequence[int], lasting: Sequence[Json | None]) -> None:
        """The largest request of the containers that end is for all of them."""
        start = len(self.mappings)
        made = [self._request(place, lasting[place:]) for place in passing]
        wanted = [one for one in made if one is not None]
        largest = max(wanted, key=_count, default=None)
        names = {one["name"] for one in wanted}
        for mapping in self.mappings[start:]:
            if largest is not None and mapping["requestName"] in names:
                mapping["requestName"] = largest["name"]
        kept = [one for one in lasting if one is not None]
        self.requests = kept if largest is None else [largest, *kept]

    def _request(self, place: int, reusable: Sequence[Json | None]) -> Json | None:
        asked = _asked(self.containers[place])
        wanted = _whole(asked.get(self.resource))
        had = 0
        for one in reusable:
            if wanted and one is not None:
                had += _count(one)
                self._map(place, one["name"])
                if had >= wanted:
                    return None
        if not wanted:
            return None
        name = f"container-{place}-request-{sorted(asked).index(self.resource)}"
        self._map(place, name)
        wish = {
            "deviceClassName": self.class_name,
            "allocationMode": "ExactCount",
            "count": wanted - had,
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

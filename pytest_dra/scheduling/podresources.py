"""What a pod takes of a node: containers, those that initialise it, its own level, its devices.

Amounts are billionths by resource. Source: ``k8s.io/component-helpers/resource`` of 1.37.2, read.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from pytest_dra.api.quantity import Quantity
from pytest_dra.scheduling.extended import asked_by

Json = dict[str, Any]
Amounts = dict[str, int]

COUNTED: Final = "pods"
"""A resource of which every pod takes one."""

HUGE: Final = "hugepages-"
"""Begin of the names of resources that are pages of memory."""

STATUSES: Final = "nodeAllocatableResourceClaimStatuses"
"""Field of a pod's status: what its devices take of the node's own resources."""


def requests(pod: Json, *, with_devices: bool = False) -> Amounts:
    """What a pod takes of a node; ``with_devices``: also what its devices take."""
    spec = pod.get("spec") or {}
    total = of_containers(pod, with_devices=with_devices)
    total.update(pod_level(pod, "requests"))
    add(total, read(spec.get("overhead") or {}))
    add(total, read({COUNTED: 1}))
    return {name: amount for name, amount in total.items() if amount}


def of_containers(pod: Json, *, with_devices: bool = False) -> Amounts:
    """What the containers of a pod request together, with what its devices take."""
    total = _aggregated(pod, lambda one: read(asked_by(one)))
    if with_devices:
        add(total, of_devices(pod))
    return total


def limits_of_containers(pod: Json) -> Amounts:
    """The limits of a pod's containers, with what its devices take of what has a limit."""
    total = _aggregated(pod, limits_of)
    for name, amount in of_devices(pod).items():
        if name in total or name.startswith(HUGE):
            total[name] = total.get(name, 0) + amount
    return total


def limits_of(container: Json) -> Amounts:
    """The limits of one container."""
    return read((container.get("resources") or {}).get("limits") or {})


def pod_level(pod: Json, kind: str) -> Amounts:
    """``requests`` or ``limits`` that a pod has as a whole."""
    found = ((pod.get("spec") or {}).get("resources") or {}).get(kind) or {}
    return read({name: value for name, value in found.items() if _is_supported(name)})


def _is_supported(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(HUGE)


def of_devices(pod: Json, container: str = "") -> Amounts:
    """What devices take of a node for a pod, or for one container of it."""
    total: Amounts = {}
    for one in (pod.get("status") or {}).get(STATUSES) or ():
        users = one.get("containers") or ()
        if container and container not in users:
            continue
        times = 1 if container else len(users)
        for each in one.get("mapping") or ():
            add(total, read({each["name"]: each.get("quantity") or 0}))
        for each in one.get("overhead") or ():
            fixed = Quantity.parse(each.get("perPod") or 0).nanos
            varying = Quantity.parse(each.get("perContainer") or 0).nanos
            add(total, {each["name"]: fixed + varying * times})
    return total


def _aggregated(pod: Json, amounts_of: Callable[[Json], Amounts]) -> Amounts:
    spec = pod.get("spec") or {}
    total: Amounts = {}
    for container in spec.get("containers") or ():
        add(total, amounts_of(container))
    largest: Amounts = {}
    beside: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = amounts_of(container)
        if container.get("restartPolicy") == "Always":
            add(total, asked)
            add(beside, asked)
            continue
        for name in {*asked, *beside}:
            amount = asked.get(name, 0) + beside.get(name, 0)
            largest[name] = max(largest.get(name, 0), amount)
    for name, amount in largest.items():
        total[name] = max(total.get(name, 0), amount)
    return total


def used(pods: Iterable[Json], *, with_devices: bool) -> Amounts:
    """What pods take of their node together."""
    total: Amounts = {}
    for one in pods:
        add(total, requests(one, with_devices=with_devices))
    return total


def lacking(pod: Json, node: Json, others: Iterable[Json], *, with_devices: bool) -> Iterator[str]:
    """Resources of which a node has too little left for a pod; none where nothing is known of it.

    ``others`` are the pods on it.
    """
    offered = (node.get("status") or {}).get("allocatable") or {}
    if not offered:
        return
    taken = used(others, with_devices=with_devices)
    for name, amount in requests(pod, with_devices=with_devices).items():
        if amount > Quantity.parse(offered.get(name) or 0).nanos - taken.get(name, 0):
            yield name


def read(amounts: Mapping[str, Any]) -> Amounts:
    """Quantities as billionths."""
    return {name: Quantity.parse(value).nanos for name, value in amounts.items()}


def add(total: Amounts, more: Mapping[str, int]) -> None:
    """Add amounts to a total."""
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount

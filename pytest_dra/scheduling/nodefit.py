"""What keeps a pod off a node before anybody looks at devices."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.allocator.taints import BLOCKING
from pytest_dra.allocator.taints import tolerates
from pytest_dra.api.quantity import Quantity
from pytest_dra.scheduling.extended import asked_by

Json = dict[str, Any]

UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""The taint that a cordoned node stands for."""

COUNTED: Final = "pods"
"""A resource of which every pod takes one."""


def why_not(pod: Json, node: Json, others: Iterable[Json], backed: Sequence[str] = ()) -> str:
    """Why a pod cannot go to a node, "" if it can.

    ``others`` are the pods on it; ``backed`` are resources that devices stand for.
    """
    spec = pod.get("spec") or {}
    said = _selected(spec, node) or _tainted(spec, node)
    return said or _resources(pod, node, others, backed)


def _selected(spec: Json, node: Json) -> str:
    labels = nodes.labels_of(node)
    for key, value in (spec.get("nodeSelector") or {}).items():
        if labels.get(key) != value:
            return f"node selector {key}={value}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        try:
            if not nodes.selects(required, node):
                return "node affinity"
        except nodes.SelectorError as error:
            return f"node affinity: {error}"
    return ""


def _tainted(spec: Json, node: Json) -> str:
    tolerations = spec.get("tolerations") or ()
    own = node.get("spec") or {}
    taints = [*(own.get("taints") or ())]
    if own.get("unschedulable") and not any(
        one.get("key") == UNSCHEDULABLE["key"] for one in taints
    ):
        taints.insert(0, UNSCHEDULABLE)
    for taint in taints:
        blocks = taint.get("effect") in BLOCKING
        if blocks and not any(tolerates(one, taint) for one in tolerations):
            if taint.get("key") == UNSCHEDULABLE["key"]:
                return "cordoned"
            return f"node taint {taint.get('key')}:{taint.get('effect')}"
    return ""


def _resources(pod: Json, node: Json, others: Iterable[Json], backed: Sequence[str]) -> str:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    if not allocatable:
        return ""
    needs = {name: amount for name, amount in requests(pod).items() if name not in backed}
    used: dict[str, int] = {}
    for other in others:
        for name, amount in requests(other).items():
            used[name] = used.get(name, 0) + amount
    for name, amount in needs.items():
        total = Quantity.parse(allocatable.get(name) or 0).nanos
        if amount > total - used.get(name, 0):
            return f"too little {name}" if name != COUNTED else "too many pods"
    return ""


def requests(pod: Json) -> dict[str, int]:
    """What a pod takes of a node, in billionths by resource."""
    spec = pod.get("spec") or {}
    total: dict[str, int] = {}
    for container in spec.get("containers") or ():
        _add(total, _asked(container))
    largest: dict[str, int] = {}
    beside: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(beside, asked)
        else:
            for name, amount in asked.items():
                largest[name] = max(largest.get(name, 0), amount + beside.get(name, 0))
    for name, amount in largest.items():
        total[name] = max(total.get(name, 0), amount)
    whole = ((spec.get("resources") or {}).get("requests")) or {}
    for name, value in whole.items():
        total[name] = Quantity.parse(value).nanos
    _add(
        total,
        {name: Quantity.parse(one).nanos for name, one in (spec.get("overhead") or {}).items()},
    )
    _add(total, {COUNTED: Quantity.parse(1).nanos})
    return {name: amount for name, amount in total.items() if amount}


def _asked(container: Json) -> dict[str, int]:
    return {name: Quantity.parse(value).nanos for name, value in asked_by(container).items()}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount

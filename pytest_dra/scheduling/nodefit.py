"""What keeps a pod off a node before anybody looks at devices."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.allocator.taints import BLOCKING
from pytest_dra.allocator.taints import tolerates
from pytest_dra.scheduling import podresources
from pytest_dra.scheduling.podresources import COUNTED

Json = dict[str, Any]

UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""The taint that a cordoned node stands for."""


def why_not(
    pod: Json, node: Json, others: Iterable[Json], backed: Sequence[str] = (),
    *, with_devices: bool = False,
) -> str:  # fmt: skip
    """Why a pod cannot go to a node, "" if it can.

    ``others`` are the pods on it; ``backed`` are resources that devices stand for. Resources that
    devices take of a node count ``with_devices``.
    """
    spec = pod.get("spec") or {}
    said = _selected(spec, node) or _tainted(spec, node)
    return said or _resources(pod, node, others, backed, with_devices=with_devices)


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


def _resources(
    pod: Json, node: Json, others: Iterable[Json], backed: Sequence[str], *, with_devices: bool
) -> str:
    for name in podresources.lacking(pod, node, others, with_devices=with_devices):
        if name not in backed:
            return f"too little {name}" if name != COUNTED else "too many pods"
    return ""

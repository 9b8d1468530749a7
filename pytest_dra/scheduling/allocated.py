"""Claims that have been allocated already: from which nodes they can be used, and for which pods.

Source: kube-scheduler 1.37.2, plugin DynamicResources (``PreFilter``, ``Filter``, ``PostFilter``),
read.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from pytest_dra.allocator import Rules
from pytest_dra.allocator import nodes
from pytest_dra.allocator import unavailable
from pytest_dra.allocator.domains import OPTIONAL_OPERATIONS
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.conditions import readiness

Json = dict[str, Any]


def troubles(
    node: Json, claims: Sequence[Json], rules: Rules, moment: datetime.datetime
) -> Iterator[tuple[Json, str]]:
    """Claims of a pod whose allocation cannot be used from a node, with the reason."""
    for claim in claims:
        allocation = allocation_of(claim)
        if allocation is None:
            continue
        name = (claim.get("metadata") or {}).get("name")
        if unavailable(node, [claim]):
            yield claim, f"claim {name} is allocated for other nodes"
        elif skips(allocation) and not nodes.declares(node, OPTIONAL_OPERATIONS):
            yield (
                claim,
                f"claim {name} has devices without node operations, which the kubelet does not "
                f"support ({OPTIONAL_OPERATIONS})",
            )
        elif rules.binding:
            found = readiness(claim, moment)
            if found.lost:
                yield claim, f"claim {name} cannot be bound: {found.why}"


def skips(allocation: Json) -> bool:
    """True if a device of an allocation is used without operations of the node."""
    return any(one.get("skipNodeOperations") for one in results_of(allocation))


def is_given_back(claim: Json, pod: Json) -> bool:
    """True if a scheduler takes the allocation of a claim away for a pod that fits nowhere.

    Nobody else may have reserved it.
    """
    reserved = (claim.get("status") or {}).get("reservedFor") or ()
    uid = (pod.get("metadata") or {}).get("uid")
    return not reserved or (len(reserved) == 1 and reserved[0].get("uid") == uid)

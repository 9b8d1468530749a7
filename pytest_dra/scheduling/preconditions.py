"""What keeps a pod from every node before one is looked at.

Source: kube-scheduler 1.37.2, plugin DynamicResources (``PreFilter``), read. What is found here
waits for a change of the cluster, where the allocator would give up on the pod with an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from pytest_dra.allocator import Rules
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import requests_of

Json = dict[str, Any]


def why_nowhere(claims: Iterable[Json], classes: Mapping[str, Json], rules: Rules) -> str:
    """Why claims cannot be allocated at the moment, "" if nothing is known against it."""
    for claim in claims:
        meta = claim.get("metadata") or {}
        name = meta.get("name")
        if meta.get("deletionTimestamp"):
            return f"claim {name} is being deleted"
        if allocation_of(claim) is not None:
            continue
        for request in requests_of(claim):
            why = _why_not(request, classes, rules)
            if why:
                return f"claim {name}, request {request.get('name')}: {why}"
    return ""


def _why_not(request: Json, classes: Mapping[str, Json], rules: Rules) -> str:
    alternatives = request.get("firstAvailable") or ()
    if request.get("exactly") is None and alternatives and not rules.prioritized_list:
        return "it has alternatives, but DRAPrioritizedList is off"
    asked = alternatives if request.get("exactly") is None else (request["exactly"],)
    for one in asked:
        name = one.get("deviceClassName")
        if name and name not in classes:
            return f"device class {name} does not exist"
    return "" if asked else "of no kind that is known"

"""``pods/<name>/binding``: a scheduler (or this suite) puts a pod on a node."""

from __future__ import annotations

from pytest_dra.embedded import errors
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.routing import Route
from pytest_dra.embedded.scalars import now
from pytest_dra.embedded.store import Snapshot
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json


def bind(store: Store, kind: Kind, route: Route, binding: Json, *, dry_run: bool) -> Json:
    """Set ``spec.nodeName`` and the condition PodScheduled.

    Raises:
        ApiError: 400 no node is named, 404 no such pod, 409 it has a node already.
    """
    target = binding.get("target")
    node = target.get("name") if isinstance(target, dict) else None
    if not isinstance(node, str) or not node:
        raise errors.invalid(
            "",
            "Binding",
            route.name,
            [errors.Cause("target.name", "FieldValueRequired", "Required value")],
        )
    old = store.get(kind.storage, route.namespace or "", route.name)
    if old is None:
        raise errors.not_found(kind.resource, route.name)
    present = old.object["spec"].get("nodeName")
    if present:
        failure = errors.conflict(
            kind.resource, route.name, f"pod {route.name} is already assigned to node {present!r}"
        )
        failure.details = {"name": route.name, "kind": "pods/binding"}
        raise failure
    if not dry_run:
        _assign(store, kind, old, node)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }


def _assign(store: Store, kind: Kind, old: Snapshot, node: str) -> None:
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now(),
    }
    status = dict(old.object["status"])
    others = [found for found in status.get("conditions") or [] if found["type"] != "PodScheduled"]
    status["conditions"] = [*others, condition]
    store.put(
        kind.storage,
        {
            **old.object,
            "metadata": dict(old.object["metadata"]),
            "spec": {**old.object["spec"], "nodeName": node},
            "status": status,
        },
    )

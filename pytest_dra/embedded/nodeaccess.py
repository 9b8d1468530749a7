"""What a kubelet may do: its own slices, its own Node, the claims of its pods."""

from __future__ import annotations

import re
from typing import Final

from pytest_dra.api import resources
from pytest_dra.embedded import errors
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import User
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

NODES_GROUP: Final = "system:nodes"
_NODE_USER: Final = "system:node:"

_ONE: Final = ("get", "update", "patch", "delete")
_MANY: Final = ("list", "watch", "deletecollection")
_READ: Final = ("get", "list", "watch")

_SLICES: Final = ("resource.ResourceSlice", "resource134.ResourceSlice")
"""Types that slices are stored as."""

_RESERVED_LABEL: Final = re.compile(r"(?:[^/]*\.)?node-restriction\.kubernetes\.io/.*")
"""Labels that a kubelet may not put on its Node."""

_ALWAYS: Final = {
    "pods": (*_READ, "create", "delete", "patch", "update"),
    "events": ("create", "patch", "update"),
    "leases": ("get", "create", "update", "patch", "delete"),
    "services": _READ,
    "configmaps": ("get",),
    "secrets": ("get",),
    "subjectaccessreviews": ("create",),
    "tokenreviews": ("create",),
    "csinodes": ("get", "create", "update", "patch", "delete"),
    "runtimeclasses": _READ,
}
"""What is not distinguished further here, although a real server does."""


def node_of(user: User) -> str:
    """The node of a kubelet's identity; "" for everybody else."""
    if NODES_GROUP in user.groups and user.name.startswith(_NODE_USER):
        return user.name[len(_NODE_USER) :]
    return ""


class NodeAccess:
    """The part of the authorizer that knows kubelets."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def allows(self, attempt: Attempt) -> bool:
        """True if the user is a kubelet and this is its business."""
        node = node_of(attempt.user)
        if not node or attempt.path:
            return False
        if attempt.resource == "resourceslices":
            return self._slices(attempt, node)
        if attempt.resource == "resourceclaims":
            return self._claims(attempt, node)
        if attempt.resource == "nodes":
            return self._nodes(attempt, node)
        return attempt.verb in _ALWAYS.get(attempt.resource, ())

    def why_not(self, attempt: Attempt) -> str:
        """What is said of a refusal about slices and claims; nothing of other users."""
        node = node_of(attempt.user)
        if not node or attempt.resource not in ("resourceslices", "resourceclaims"):
            return ""
        if attempt.resource == "resourceslices" and attempt.verb in _MANY:
            verbs = "list/watch/deletecollection"
            return f"can only {verbs} resourceslices with nodeName field selector"
        if attempt.verb in _ONE and attempt.name:
            return f"no relationship found between node '{node}' and this object"
        return ""

    def _slices(self, attempt: Attempt, node: str) -> bool:
        if attempt.verb == "create":
            return True
        if attempt.verb in _MANY:
            return f"spec.nodeName={node}" in attempt.fields.replace("==", "=").split(",")
        if attempt.verb not in _ONE:
            return False
        return any(
            found.object["spec"].get("nodeName") == node
            for kind in _SLICES
            if (found := self._store.get(kind, "", attempt.name)) is not None
        )

    def _claims(self, attempt: Attempt, node: str) -> bool:
        if attempt.verb != "get" or attempt.subresource or not attempt.name:
            return False
        return any(
            attempt.name in _claims_of(pod.object)
            for pod in self._store.sorted("core.Pod", attempt.namespace)
            if pod.object["spec"].get("nodeName") == node
        )

    @staticmethod
    def _nodes(attempt: Attempt, node: str) -> bool:
        if attempt.verb == "create":
            return True
        if attempt.verb in ("list", "watch"):
            return f"metadata.name={node}" in attempt.fields.replace("==", "=").split(",")
        return attempt.verb in ("get", "update", "patch") and attempt.name == node


def _claims_of(pod: Json) -> set[str]:
    """The names of all claims that a pod uses, those made from templates too."""
    named = [found.get("resourceClaimName") for found in pod["spec"].get("resourceClaims") or []]
    status = pod.get("status") or {}
    for found in status.get("resourceClaimStatuses") or []:
        named.append(found.get("resourceClaimName"))
    extended = status.get("extendedResourceClaimStatus") or {}
    named.append(extended.get("resourceClaimName"))
    return {name for name in named if name}


def restrict(user: User, kind: Kind, obj: Json, old: Json | None) -> None:
    """The admission plugin NodeRestriction: what a kubelet writes concerns its own node.

    Raises:
        ApiError: 403.
    """
    node = node_of(user)
    if not node:
        return
    name = obj["metadata"].get("name", "")
    if kind.resource.plural == resources.RESOURCE_SLICES.plural:
        if obj["spec"].get("nodeName") != node:
            why = "can only create ResourceSlice with the same NodeName as the requesting node"
            raise errors.forbidden(kind.resource, name, why)
    elif kind.resource == resources.NODES:
        labels = obj["metadata"].get("labels") or {}
        before = ((old or {}).get("metadata") or {}).get("labels") or {}
        for key in labels:
            if labels[key] != before.get(key) and _RESERVED_LABEL.fullmatch(key):
                why = f"node {node!r} is not allowed to set the label {key}"
                raise errors.forbidden(kind.resource, name, why)

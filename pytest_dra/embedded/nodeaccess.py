"""What a kubelet may do: its own slices, its own Node, the claims of its pods."""

from __future__ import annotations

import re
from typing import Any
from typing import Final

from pytest_dra.api import resources
from pytest_dra.embedded import errors
from pytest_dra.embedded.access import Attempt
from pytest_dra.embedded.access import User
from pytest_dra.embedded.kinds import Kind
from pytest_dra.embedded.store import Store
from pytest_dra.spec import Json

NODES_GROUP: Final = "system:nodes"
NODE_USER: Final = "system:node:"

_ONE: Final = ("get", "update", "patch", "delete")
_MANY: Final = ("list", "watch", "deletecollection")
_READ: Final = ("get", "list", "watch")

_SLICES: Final = ("resource.ResourceSlice", "resource134.ResourceSlice")
"""Types that slices are stored as."""

LEASES: Final = "kube-node-lease"
"""The namespace of the kubelets' leases."""

MIRROR: Final = "kubernetes.io/config.mirror"
"""The annotation of a pod that a kubelet shows of its own files."""

_RESERVED_LABEL: Final = re.compile(r"(?:[^/]*\.)?node-restriction\.kubernetes\.io/.*")
"""Labels that a kubelet may not put on its Node."""

_ALWAYS: Final = {
    "events": ("create", "patch", "update"),
    "services": _READ,
    "subjectaccessreviews": ("create",),
    "tokenreviews": ("create",),
    "csinodes": ("get", "create", "update", "patch", "delete"),
    "runtimeclasses": _READ,
}
"""What is not distinguished further here, although a real server does."""


def node_of(user: User) -> str:
    """The node of a kubelet's identity; "" for everybody else."""
    if NODES_GROUP in user.groups and user.name.startswith(NODE_USER):
        return user.name[len(NODE_USER) :]
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
        if attempt.resource == "pods":
            return self._pods(attempt, node)
        if attempt.resource == "leases":
            named = attempt.verb == "create" or attempt.name == node
            mine = attempt.namespace == LEASES and named
            return mine and attempt.verb in ("create", *_ONE)
        if attempt.resource in ("configmaps", "secrets"):
            return self._mounted(attempt, node)
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
            return _selects(attempt, f"spec.nodeName={node}")
        if attempt.verb not in _ONE:
            return False
        return any(
            found.lean["spec"].get("nodeName") == node
            for kind in _SLICES
            if (found := self._store.get(kind, "", attempt.name)) is not None
        )

    def _claims(self, attempt: Attempt, node: str) -> bool:
        if attempt.verb != "get" or attempt.subresource or not attempt.name:
            return False
        pods = self._of_node(attempt.namespace, node)
        return any(attempt.name in _claims_of(pod) for pod in pods)

    @staticmethod
    def _nodes(attempt: Attempt, node: str) -> bool:
        if attempt.verb == "create":
            return True
        if attempt.verb in ("list", "watch"):
            return _selects(attempt, f"metadata.name={node}")
        if attempt.verb == "get":
            return attempt.name == node
        # the name is looked at once the object has been found
        return attempt.verb in ("update", "patch") and attempt.subresource in ("", "status")

    def _of_node(self, namespace: str, node: str) -> list[Json]:
        return [
            pod.object
            for pod in self._store.sorted("core.Pod", namespace)
            if pod.object["spec"].get("nodeName") == node
        ]

    def _pods(self, attempt: Attempt, node: str) -> bool:
        if attempt.subresource:
            return attempt.subresource == "status" and attempt.verb in ("update", "patch")
        if attempt.verb == "get":
            pod = self._store.get("core.Pod", attempt.namespace, attempt.name)
            return pod is not None and pod.object["spec"].get("nodeName") == node
        if attempt.verb in ("list", "watch"):
            return _selects(attempt, f"spec.nodeName={node}")
        return attempt.verb in ("create", "delete")

    def _mounted(self, attempt: Attempt, node: str) -> bool:
        if attempt.verb not in _READ or not attempt.name:
            return False
        parts = _NAMED_IN[attempt.resource]
        return any(
            attempt.name in _mentioned(pod["spec"], parts)
            for pod in self._of_node(attempt.namespace, node)
        )


def _mentioned(value: Any, parts: tuple[str, ...]) -> set[str]:
    """The names that stand in references of these kinds anywhere in a pod's spec."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            for name in parts:
                named = part.get(name)
                for reference in named if isinstance(named, list) else [named]:
                    if isinstance(reference, dict):
                        found |= {str(reference.get(key)) for key in ("name", "secretName")}
    return found


_NAMED_IN: Final = {
    "configmaps": ("configMap", "configMapRef", "configMapKeyRef"),
    "secrets": ("secret", "secretRef", "secretKeyRef", "imagePullSecrets"),
}
"""Fields of a pod's spec that refer to an object of the kind."""


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
        _restrict_node(kind, node, obj, old)
    elif kind.resource == resources.PODS:
        if old is None and MIRROR not in (obj["metadata"].get("annotations") or {}):
            why = f"node {node!r} can only create mirror pods"
            raise errors.forbidden(kind.resource, name, why)
        _restrict_pod(kind, node, obj if old is None else old)


def _selects(attempt: Attempt, term: str) -> bool:
    return term in attempt.fields.replace("==", "=").split(",")


def restrict_deletion(user: User, kind: Kind, old: Json) -> None:
    """The same for what a kubelet deletes.

    Raises:
        ApiError: 403.
    """
    node = node_of(user)
    if node and kind.resource == resources.PODS:
        _restrict_pod(kind, node, old)


def _restrict_pod(kind: Kind, node: str, pod: Json) -> None:
    if pod["spec"].get("nodeName") != node:
        why = f"node {node!r} has to do only with pods with spec.nodeName set to itself"
        raise errors.forbidden(kind.resource, pod["metadata"].get("name", ""), why)


def _restrict_node(kind: Kind, node: str, obj: Json, old: Json | None) -> None:
    name = obj["metadata"].get("name", "")
    if name != node:
        why = f"node {node!r} is not allowed to modify node {name!r}"
        raise errors.forbidden(kind.resource, name, why)
    labels = obj["metadata"].get("labels") or {}
    before = ((old or {}).get("metadata") or {}).get("labels") or {}
    for key in labels:
        if labels[key] != before.get(key) and _RESERVED_LABEL.fullmatch(key):
            why = f"node {node!r} is not allowed to set the label {key}"
            raise errors.forbidden(kind.resource, name, why)

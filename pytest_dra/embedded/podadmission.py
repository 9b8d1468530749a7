"""What admission plugins add to each new pod: account and its token, priority, tolerations."""

from __future__ import annotations

from typing import Final

from pytest_dra.embedded import metadata
from pytest_dra.spec import Json

UNREACHABLE_S: Final = 300
"""How long a pod tolerates that its node is not ready, or cannot be reached."""

TOKEN_S: Final = 3607
"""Lifetime of the token in a pod: an hour, and what tells it from tokens that are asked for."""

ACCOUNT_DIRECTORY: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where every container finds its token."""

_MODE: Final = 0o644
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def complete(spec: Json) -> None:
    """Add what a new pod lacks, in place."""
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    if spec.get("automountServiceAccountToken", True):
        _mount_token(spec)
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    tolerations = spec.setdefault("tolerations", [])
    for key in _TAINTS:
        if not any(_tolerates(found, key) for found in tolerations):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": UNREACHABLE_S,
                }
            )


def _tolerates(toleration: Json, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in (
        "",
        "NoExecute",
    )


def _mount_token(spec: Json) -> None:
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    free = [
        container
        for container in containers
        if all(
            mount.get("mountPath") != ACCOUNT_DIRECTORY
            for mount in container.get("volumeMounts") or []
        )
    ]
    if not free:
        return
    name = metadata.generated_name("kube-api-access-")
    for container in free:
        mount = {"name": name, "readOnly": True, "mountPath": ACCOUNT_DIRECTORY}
        container.setdefault("volumeMounts", []).append(mount)
    certificate = {"key": "ca.crt", "path": "ca.crt"}
    place = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources: list[Json] = [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_S, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [certificate]}},
        {"downwardAPI": {"items": [{"path": "namespace", **place}]}},
    ]
    projected = {"sources": sources, "defaultMode": _MODE}
    spec.setdefault("volumes", []).append({"name": name, "projected": projected})

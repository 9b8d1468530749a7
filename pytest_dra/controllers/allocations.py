"""Writing allocations and reservations into claims, the way a scheduler does."""

from __future__ import annotations

from typing import Final

from pytest_dra.api import resources
from pytest_dra.kube import Client
from pytest_dra.spec import Json

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
"""Keeps a claim from going while it has devices."""

CONSUMERS_MAX: Final = 256
"""Pods for which a claim can be reserved."""


class ReservationError(Exception):
    """A claim cannot be reserved for a pod."""


def write(client: Client, claim: Json, allocation: Json | None, consumer: Json | None) -> Json:
    """Give a claim its allocation, if it has none yet, and reserve it, if somebody wants it.

    The claim has to be as it was read: if somebody has changed it since, the server refuses.

    Raises:
        KubeError: the server refuses; code 409 if the claim has changed.
        ReservationError: too many use the claim.
    """
    meta = claim["metadata"]
    namespace, name = meta.get("namespace") or "default", meta["name"]
    version = meta.get("resourceVersion")
    finalizers = meta.get("finalizers") or []
    if allocation is not None and FINALIZER not in finalizers:
        body = {"metadata": {"resourceVersion": version, "finalizers": [*finalizers, FINALIZER]}}
        changed = client.patch(resources.RESOURCE_CLAIMS, name, body, namespace=namespace)
        version = changed["metadata"]["resourceVersion"]
    status: Json = {} if allocation is None else {"allocation": allocation}
    if consumer is not None:
        status["reservedFor"] = reserved(claim, consumer)
    body = {"metadata": {"resourceVersion": version}, "status": status}
    return client.patch(
        resources.RESOURCE_CLAIMS, name, body, namespace=namespace, subresource="status"
    )


def reserved(claim: Json, consumer: Json) -> list[Json]:
    """The consumers of a claim with one more among them.

    Raises:
        ReservationError: there are too many.
    """
    found: list[Json] = list((claim.get("status") or {}).get("reservedFor") or ())
    if any(one.get("uid") == consumer.get("uid") for one in found):
        return found
    if len(found) >= CONSUMERS_MAX:
        raise ReservationError(f"claim {claim['metadata']['name']}: {len(found)} pods use it")
    return [*found, consumer]

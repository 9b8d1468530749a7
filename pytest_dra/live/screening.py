"""Claims with configuration, written as a user writes them, and what the server says to that."""

from __future__ import annotations

from typing import Final

from pytest_dra.api.resources import RESOURCE_GROUP
from pytest_dra.api.resources import Resource
from pytest_dra.clusters.discovery import kind_of
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
"""Of the API group, newest first; the oldest has requests of another form."""

CLAIM: Final = "ResourceClaim"
TEMPLATE: Final = "ResourceClaimTemplate"
KINDS: Final = (CLAIM, TEMPLATE)

REFUSALS: Final = frozenset({400, 403, 422})
"""Codes by which a webhook or policy denies."""

SHOWN: Final = 200
"""Characters of an answer in a message."""


def served(client: Client) -> list[str]:
    """The versions of the group that the server has claims in. Raises KubeError."""
    return [
        each for each in VERSIONS if kind_of(client, f"{RESOURCE_GROUP}/{each}", CLAIM) is not None
    ]


def body(kind: str, version: str, device_class: str, driver: str, parameters: Json) -> Json:
    """A claim or template with parameters for the driver, as an object of a version."""
    asked: Json = {"deviceClassName": device_class}
    request = {"name": "device", **(asked if version == "v1beta1" else {"exactly": asked})}
    config = {"opaque": {"driver": driver, "parameters": parameters}}
    spec: Json = {"devices": {"requests": [request], "config": [config]}}
    return {
        "apiVersion": f"{RESOURCE_GROUP}/{version}",
        "kind": kind,
        "metadata": {"generateName": "conf-007-"},
        "spec": {"spec": spec} if kind == TEMPLATE else spec,
    }


def must_be_taken(client: Client, item: Json, namespace: str) -> None:
    """Judge that good configuration is not refused.

    Raises:
        Violation: it is.
    """
    error = _refusal(client, item, namespace)
    if error is not None:
        raise Violation(
            f"{_shown(item)} with a sample of samples.good_config",
            got=f"refused: {str(error)[:SHOWN]}",
            want="taken",
        )


def must_be_refused(client: Client, item: Json, namespace: str) -> None:
    """Judge that bad configuration is refused, with a message.

    Raises:
        Violation: it is not.
    """
    error = _refusal(client, item, namespace)
    if error is None or not str(error.status.get("message") or ""):
        raise Violation(
            f"{_shown(item)} with a sample of samples.bad_config",
            got="taken" if error is None else "refused without a message",
            want="refused with a message, in each version that the server has",
        )


def _refusal(client: Client, item: Json, namespace: str) -> KubeError | None:
    """What is said against an object; None where it is taken. It is gone afterwards."""
    group, _, version = item["apiVersion"].partition("/")
    plural = f"{item['kind'].lower()}s"
    resource = Resource(group, version, plural, item["kind"], namespaced=True)
    try:
        made = client.create(resource, item, namespace=namespace)
    except KubeError as error:
        if error.code in REFUSALS:
            return error
        raise
    client.delete(resource, made["metadata"]["name"], namespace=namespace)
    return None


def _shown(item: Json) -> str:
    return f"{item['kind']} in {item['apiVersion']}"

"""The accounts of drivers: one of the suite for each instance, or the one of their manifests."""

from __future__ import annotations

from typing import Final

from pytest_dra.api.resources import NAMESPACES
from pytest_dra.api.resources import Resource
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.embedded.access import ACCOUNT
from pytest_dra.embedded.access import AUTHENTICATED
from pytest_dra.embedded.access import User
from pytest_dra.embedded.access import account_groups
from pytest_dra.embedded.granular import NODE_NAME
from pytest_dra.embedded.nodeaccess import NODE_USER
from pytest_dra.embedded.nodeaccess import NODES_GROUP
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.profile.rights import Rights
from pytest_dra.spec import Json

DRIVERS: Final = f"{ACCOUNT}dra-driver:"
"""What the names of drivers on the timeline begin with."""

DRIVER_GROUP: Final = account_groups(DRIVERS)[1]
"""The group of all accounts of the suite's namespace for drivers."""

EXISTS: Final = "AlreadyExists"


def account(instance: str, node: str, rights: Rights | None) -> User:
    """The identity of an instance, bound to its node as the token of a pod is.

    With ``rights`` all instances are the same account, and only the timeline tells them apart.
    """
    label = f"{DRIVERS}{instance}"
    name = f"{ACCOUNT}{rights.namespace}:{rights.account}" if rights else label
    return User(
        name=name,
        groups=(*account_groups(name), AUTHENTICATED),
        extra={NODE_NAME: (node,)},
        label=label,
    )


def kubelet(node: str) -> User:
    """The identity of a node's kubelet."""
    return User(name=f"{NODE_USER}{node}", groups=(NODES_GROUP, AUTHENTICATED))


def is_driver(identity: str) -> bool:
    """True for a driver's name on the timeline."""
    return identity.startswith(DRIVERS)


def install(client: Client, rights: Rights) -> None:
    """Make the objects that the driver's manifests grant rights with, and their namespaces.

    Raises:
        ClusterError: the API server refuses one.
    """
    namespaces = {obj["metadata"].get("namespace") for obj in rights.objects} | {rights.namespace}
    for name in sorted(each for each in namespaces if each):
        _make(client, NAMESPACES, {"metadata": {"name": name}})
    for obj in rights.objects:
        _make(client, _resource(obj), obj)


def _resource(obj: Json) -> Resource:
    group, _, version = obj["apiVersion"].rpartition("/")
    kind = obj["kind"]
    plural = f"{kind[:-1].lower()}ies" if kind.endswith("y") else f"{kind.lower()}s"
    return Resource(group, version, plural, kind, "namespace" in obj["metadata"])


def _make(client: Client, resource: Resource, obj: Json) -> None:
    try:
        client.create(resource, obj, namespace=obj["metadata"].get("namespace"))
    except KubeError as error:
        if error.reason != EXISTS:
            name = f"{resource.kind} {obj['metadata']['name']}"
            raise ClusterError(f"manifests: {name} cannot be made: {error}") from error

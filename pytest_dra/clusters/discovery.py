"""What a server serves."""

from __future__ import annotations

import dataclasses

from pytest_dra.api.resources import Resource
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError


@dataclasses.dataclass(frozen=True, slots=True)
class Served:
    """A resource, and what may be done with it."""

    resource: Resource
    verbs: frozenset[str]


def served(client: Client, api_version: str) -> list[Served]:
    """The resources of a group and version; none if the server has it not.

    Raises:
        KubeError: the server cannot be asked.
    """
    group, _, version = api_version.rpartition("/")
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        answer = client.read(path)
    except KubeError as error:
        if error.code == NOT_FOUND:
            return []
        raise
    return [
        Served(
            Resource(group, version, each["name"], each["kind"], bool(each["namespaced"])),
            frozenset(each.get("verbs") or ()),
        )
        for each in answer.get("resources") or ()
        if "/" not in each["name"]
    ]


def kind_of(client: Client, api_version: str, kind: str) -> Resource | None:
    """How the server serves a kind; None if it does not.

    Raises:
        KubeError: the server cannot be asked.
    """
    every = (each.resource for each in served(client, api_version))
    return next((each for each in every if each.kind == kind), None)


def all_served(client: Client) -> list[Served]:
    """All resources, of each group in the version that the server prefers.

    A group whose server is gone has none.

    Raises:
        KubeError: the server cannot be asked.
    """
    versions = ["v1"]
    for each in client.read("/apis").get("groups") or ():
        versions.append(str((each.get("preferredVersion") or {}).get("groupVersion") or ""))
    found: list[Served] = []
    for version in versions:
        try:
            found += served(client, version) if version else []
        except KubeError as error:
            if not error.code:
                raise
    return found

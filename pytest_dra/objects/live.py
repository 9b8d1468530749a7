"""The objects of a cluster, as the user of a kubeconfig sees them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra import kube
from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.objects.reading import OBJECTS_MAX
from pytest_dra.objects.reading import Given
from pytest_dra.objects.reading import ReadingError
from pytest_dra.spec import Json

KUBECONFIG: Final = "kubeconfig"
"""What stands in a file's place for the objects of a cluster."""

LISTED: Final = (
    resources.RESOURCE_SLICES,
    resources.DEVICE_CLASSES,
    resources.RESOURCE_CLAIMS,
    resources.RESOURCE_CLAIM_TEMPLATES,
    resources.NODES,
)

_OPTIONAL: Final = (resources.DEVICE_TAINT_RULES, resources.POD_GROUPS)
"""What a server may not have."""

SCHEDULED: Final = (*LISTED, *_OPTIONAL, resources.PODS)
"""What a scheduler looks at."""

NOT_FOUND: Final = 404


def kubeconfig(place: str | None = None) -> Path:
    """The file at a place, or the one that kubectl would use."""
    return Path(place or os.environ.get("KUBECONFIG") or "~/.kube/config").expanduser()


def from_cluster(
    place: str = "", context: str | None = None, listed: Sequence[Resource] = LISTED
) -> list[Given]:
    """Slices, classes, claims, templates and nodes of a cluster, or what is ``listed``.

    Rules of taints and groups of pods may not be served; then there are none.

    Args:
        place: the kubeconfig; the usual one where it is empty.
        context: of the kubeconfig; its current one where there is none.

    Raises:
        ReadingError: the cluster cannot be asked.
    """
    file = kubeconfig(place)
    found: list[Given] = []
    try:
        client = kube.Client(file, context=context)
        try:
            for resource in listed:
                found += [
                    Given(
                        file=KUBECONFIG,
                        line=0,
                        api_version=resource.api_version,
                        kind=resource.kind,
                        body=body,
                    )
                    for body in objects_of(client, resource)
                ]
        finally:
            client.close()
    except kube.KubeError as error:
        raise ReadingError(KUBECONFIG, 0, str(error)) from error
    if len(found) > OBJECTS_MAX:
        raise ReadingError(KUBECONFIG, 0, f"more than {OBJECTS_MAX} objects")
    return found


def server_version(place: str = "", context: str | None = None) -> str:
    """What a cluster says its version is, like ``v1.37.2``.

    Raises:
        ReadingError: the cluster cannot be asked.
    """
    try:
        client = kube.Client(kubeconfig(place), context=context)
        try:
            return client.server_version()
        finally:
            client.close()
    except kube.KubeError as error:
        raise ReadingError(KUBECONFIG, 0, str(error)) from error


def objects_of(client: kube.Client, resource: Resource) -> list[Json]:
    """The objects of one resource; none of those that a server may not have, if it has not.

    Raises:
        KubeError: the cluster cannot be asked.
    """
    try:
        return client.list(resource)
    except kube.KubeError as error:
        if error.code == NOT_FOUND and resource in _OPTIONAL:
            return []
        raise

"""Objects on a cluster that this run has made: labelled, and removed at its end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pytest_dra.api.resources import Resource
from pytest_dra.clusters.discovery import kind_of
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import CONFLICT
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

LABEL: Final = "pytest-dra.dev/run"
"""Label of everything that a run makes on a cluster; its value is the run."""

OWNER: Final = "pytest-dra.dev/owner"
"""Annotation beside it: which process the run is, by which ``--dra-cleanup`` tells its end."""

GONE_S: Final = 120.0
"""Longest wait for the end of what was deleted: namespaces with pods take some tens of seconds."""

EVERY_S: Final = 0.5
"""Between two looks at what is being deleted."""

DEFAULT_NAMESPACE: Final = "default"


class Deployment:
    """See the module.

    Args:
        client: with the rights to make the objects.
        marks: labels and annotations of each, as :func:`marks_of` has them.
        objects: in the order in which they are made.
    """

    def __init__(self, client: Client, *, marks: Json, objects: Sequence[Json]) -> None:
        self._client = client
        self._objects = objects
        self._marks = marks
        self._made: list[tuple[Resource, str | None, str]] = []
        self._kinds: dict[tuple[str, str], Resource] = {}

    def apply(self) -> None:
        """Make the objects.

        Raises:
            ClusterError: the server refuses one, or it is there already and not of this run.
        """
        for item in self._objects:
            self._create(item)

    def adopt(self) -> None:
        """Take the objects for made, which another process of the run has done. As :meth:`apply`.

        Raises:
            ClusterError: the server does not serve one of them.
        """
        for item in self._objects:
            resource = self._served(item)
            name = str(item["metadata"]["name"])
            self._made.append((resource, namespace_of(item, resource), name))

    def _create(self, item: Json) -> None:
        resource = self._served(item)
        metadata = dict(item.get("metadata") or {})
        for field, mark in self._marks.items():
            metadata[field] = {**(metadata.get(field) or {}), **mark}
        name = str(metadata.get("name") or "")
        namespace = namespace_of(item, resource)
        shown = f"{item['kind']} {f'{namespace}/' if namespace else ''}{name}"
        try:
            made = self._client.create(
                resource, {**item, "metadata": metadata}, namespace=namespace
            )
        except KubeError as error:
            if error.code == CONFLICT:
                raise ClusterError(
                    f"{shown} exists on the cluster and is not of this run: remove it (pytest "
                    "--dra-cleanup, if a run has left it), or judge what is installed with "
                    "--dra-driver=installed"
                ) from error
            raise ClusterError(f"{shown} cannot be made: {error}") from error
        self._made.append((resource, namespace, str(made["metadata"]["name"])))

    def _served(self, item: Json) -> Resource:
        key = (str(item["apiVersion"]), str(item["kind"]))
        if key not in self._kinds:
            self._kinds[key] = resource_of(self._client, item)
        return self._kinds[key]

    def apply_again(self, items: Sequence[Json]) -> None:
        """Make objects anew that :meth:`remove_some` has removed. Raises as :meth:`apply`."""
        for item in items:
            self._create(item)

    def remove_some(self, items: Sequence[Json]) -> list[str]:
        """Delete these of the objects; what is still there then, in words."""
        meant = {(str(each["kind"]), str(each["metadata"]["name"])) for each in items}
        made = [each for each in self._made if (each[0].kind, each[2]) in meant]
        self._made = [each for each in self._made if each not in made]
        return self._removed(made)

    def remove(self) -> list[str]:
        """Delete what was made, the last first; what is still there then, in words."""
        self.begin_removal()
        return self.end_removal()

    def begin_removal(self) -> None:
        """Ask for the end of what was made, the last first."""
        self._delete(self._made)

    def end_removal(self) -> list[str]:
        """Wait for it; what is still there then, in words."""
        made, self._made = self._made, []
        return self._left(made)

    def _removed(self, made: Sequence[tuple[Resource, str | None, str]]) -> list[str]:
        self._delete(made)
        return self._left(made)

    def _delete(self, made: Sequence[tuple[Resource, str | None, str]]) -> None:
        for resource, namespace, name in reversed(made):
            with suppress(KubeError):
                self._client.delete(resource, name, namespace=namespace, grace_s=None)

    def _left(self, made: Sequence[tuple[Resource, str | None, str]]) -> list[str]:
        left: list[str] = []

        def gone() -> bool:
            left[:] = [
                f"{resource.kind} {name}"
                for resource, namespace, name in made
                if self._is_there(resource, namespace, name)
            ]
            return not left

        poll(gone, Deadline.after(GONE_S), every_s=EVERY_S)
        return left

    def _is_there(self, resource: Resource, namespace: str | None, name: str) -> bool:
        try:
            self._client.get(resource, name, namespace=namespace)
        except KubeError as error:
            return error.code != NOT_FOUND
        return True


def marks_of(run: str, owner: Owner) -> Json:
    """Labels and annotations of everything that a run makes, whose process is the owner."""
    return {"labels": {LABEL: run}, "annotations": {OWNER: owner.written()}}


def resource_of(client: Client, item: Json) -> Resource:
    """How the server serves the kind of an object.

    Raises:
        ClusterError: it does not, or cannot be asked.
    """
    version, kind = str(item["apiVersion"]), str(item["kind"])
    try:
        found = kind_of(client, version, kind)
    except KubeError as error:
        raise ClusterError(f"{kind} of {version}: {error}") from error
    if found is None:
        raise ClusterError(f"the cluster serves no {kind} of {version}")
    return found


def namespace_of(item: Json, resource: Resource) -> str | None:
    """Where an object is made; None for one that is in no namespace."""
    if not resource.namespaced:
        return None
    return str((item.get("metadata") or {}).get("namespace") or DEFAULT_NAMESPACE)

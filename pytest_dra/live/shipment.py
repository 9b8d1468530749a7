"""What is put onto a cluster for a driver: its manifests, with the image that is judged."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_dra.checks.workloads import WORKLOADS
from pytest_dra.checks.workloads import Workload
from pytest_dra.checks.workloads import list_at
from pytest_dra.checks.workloads import plugins_among
from pytest_dra.checks.workloads import workload_of
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.reading import read_files
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

CHART: Final = "Chart.yaml"
"""What a folder with a Helm chart has."""

KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""One of these is what a kustomize directory has."""

TEMPLATES: Final = "templates"
"""Folder of a chart whose files are no YAML before they are rendered."""

ENDINGS: Final = (".yaml", ".yml", ".json")
"""What is read of a folder."""

FIRST: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "ClusterRole",
    "Role",
    "ClusterRoleBinding",
    "RoleBinding",
    "DeviceClass",
    "Service",
)
"""Kinds that others need, in this order; pods come last."""

CLUSTER_WIDE: Final = frozenset(
    {
        "Namespace", "CustomResourceDefinition", "PriorityClass", "ClusterRole",
        "ClusterRoleBinding", "DeviceClass", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration", "RuntimeClass", "StorageClass", "CSIDriver",
        "ResourceSlice", "DeviceTaintRule",
    }
)  # fmt: skip
"""Kinds that are in no namespace."""

SHOWN: Final = 80
"""Characters of an object in a message."""

IF_NOT_PRESENT: Final = "IfNotPresent"
"""An image that was loaded into the nodes must not be pulled, not even one that is ``latest``."""


class ShipmentError(Exception):
    """The manifests cannot be used; one sentence with the file or object."""


def objects_of(paths: Iterable[Path]) -> list[Json]:
    """The objects of manifests, in the order in which they are made.

    Raises:
        ShipmentError: a file cannot be read, or holds what is no object.
    """
    files = [file for path in paths for file in _files(path)]
    try:
        found = [given.body for given in read_files([str(file) for file in files])]
    except ReadingError as error:
        raise ShipmentError(f"manifests: {error}{_meant(files)}") from error
    return ordered(found)


def _meant(files: Iterable[Path]) -> str:
    """What to give in the place of a folder whose files have to be rendered; "" for others."""
    ordered = sorted(files, key=lambda file: len(file.parts))
    for file in ordered:
        if file.name == CHART:
            return f". {file.parent} is a Helm chart: give that"
        if file.name in KUSTOMIZATIONS:
            return f". {file.parent} is a kustomize directory: give that"
    for file in ordered:
        if file.parent.name == TEMPLATES:
            return f". If {file.parent.parent} is meant to be a Helm chart: it has no {CHART}"
    return ""


def ordered(objects: Iterable[Json]) -> list[Json]:
    """Copies of objects in the order in which they are made.

    Raises:
        ShipmentError: one of them is no object of Kubernetes.
    """
    found = [copy.deepcopy(each) for each in objects]
    for each in found:
        if not isinstance(each, dict) or not each.get("apiVersion") or not each.get("kind"):
            raise ShipmentError(
                f"manifests: an object without apiVersion or kind: {str(each)[:SHOWN]}"
            )
    return sorted(found, key=rank_of)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    yield from (each for each in sorted(path.rglob("*")) if each.suffix in ENDINGS)


def rank_of(item: Json) -> int:
    """Place of an object in the order in which they are made."""
    kind = item["kind"]
    if kind in FIRST:
        return FIRST.index(kind)
    return len(FIRST) + (kind in WORKLOADS)


def workloads_of(objects: Iterable[Json]) -> list[Workload]:
    """The objects that make pods."""
    found = (workload_of(each) for each in objects)
    return [each for each in found if each is not None]


def plugins_of(objects: Iterable[Json]) -> list[Workload]:
    """The DaemonSets of the kubelet plugin; none where there is none."""
    try:
        return plugins_among(workloads_of(objects))
    except NotApplicable:
        return []


def put_image(objects: Sequence[Json], image: str, *, arguments: Sequence[str] = ()) -> None:
    """Let the plugin's containers run an image, and more arguments.

    The containers whose image has the same name, whatever its registry and tag, are meant; where
    there is no such one, the first container of each plugin.

    Args:
        objects: changed in place.
        image: what is under test.
        arguments: come behind those of the manifests.

    Raises:
        ShipmentError: there is no DaemonSet.
    """
    every = workloads_of(objects)
    plugins = plugins_of(objects)
    if not plugins:
        raise ShipmentError("manifests: there is no DaemonSet that could run the image")
    meant = [
        container
        for each in every
        for _, container in each.containers
        if name_of(str(container.get("image"))) == name_of(image)
    ] or [list_at(each.pod, "containers")[0] for each in plugins if list_at(each.pod, "containers")]
    for container in meant:
        container["image"] = image
        container["imagePullPolicy"] = IF_NOT_PRESENT
        if arguments:
            container["args"] = [*(container.get("args") or ()), *arguments]


def images_of(objects: Iterable[Json]) -> list[str]:
    """The images of all containers, each once."""
    found = [
        str(container.get("image") or "")
        for each in workloads_of(objects)
        for _, container in each.containers
    ]
    return list(dict.fromkeys(each for each in found if each))


def runs(workload: Workload, image: str) -> bool:
    """True if one of its containers runs an image of the same name, of any registry and tag."""
    return any(
        name_of(str(container.get("image"))) == name_of(image)
        for _, container in workload.containers
    )


def name_of(image: str) -> str:
    """The last part of an image's repository."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]

"""DeviceClasses: whether that of the profile is there, and one of a case, with configuration."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra.api import resources
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.deployment import Deployment
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench

MADE_S: Final = 10.0
"""Longest wait for a class that comes with no manifest: the driver makes it at its start."""

EVERY_S: Final = 0.2

SHOWN: Final = 5
"""Other classes in a message."""


def must_be_there(client: Client, name: str) -> None:
    """Look for a class of the profile: pods of one that is not there wait for ever.

    Raises:
        ClusterError: the cluster does not have it within MADE_S, or cannot be asked; with those
            that it has.
    """

    def there() -> bool:
        try:
            client.get(resources.DEVICE_CLASSES, name)
        except KubeError as error:
            if error.code == NOT_FOUND:
                return False
            raise
        return True

    try:
        if poll(there, Deadline.after(MADE_S), every_s=EVERY_S):
            return
        known = sorted(each["metadata"]["name"] for each in client.list(resources.DEVICE_CLASSES))
    except KubeError as error:
        raise ClusterError(f"DeviceClass {name}: {error}") from error
    more = ", ..." if len(known) > SHOWN else ""
    others = f"it has {', '.join(known[:SHOWN])}{more}" if known else "it has none at all"
    raise ClusterError(
        f"the cluster has no DeviceClass {name}, which is the first one of the profile's "
        f"driver.deviceClasses; {others}: name there what the manifests make of it (a namePrefix "
        "of kustomize is a part of its name)"
    )


@contextmanager
def configured(bench: LiveBench, config: Sequence[Json]) -> Iterator[str]:
    """Another class of the same devices, with these entries of configuration; its name.

    It goes at the end, and pods with its claims before it.

    Raises:
        ClusterError: it cannot be made.
    """
    try:
        known = bench.client.get(resources.DEVICE_CLASSES, bench.device_class)
    except KubeError as error:
        raise ClusterError(f"DeviceClass {bench.device_class}: {error}") from error
    spec = copy.deepcopy(known["spec"])
    spec.pop("extendedResourceName", None)
    name = f"{bench.namespace}-{bench.name('class')}"
    item: Json = {
        "apiVersion": known.get("apiVersion") or "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {**spec, "config": list(config)},
    }
    made = Deployment(bench.client, marks=bench.marks, objects=[item])
    made.apply()
    try:
        yield name
    finally:
        made.remove()

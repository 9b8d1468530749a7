"""A DeviceClass of a case: that of the profile, with configuration of its own."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_dra.api import resources
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import KubeError
from pytest_dra.live.deployment import Deployment
from pytest_dra.spec import Json

if TYPE_CHECKING:
    from pytest_dra.live.bench import LiveBench


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

"""Whether a driver can be deployed on a cluster of others: nobody may run it there already."""

from __future__ import annotations

from typing import Final

from pytest_dra.api import resources
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

WIPED_S: Final = 45.0
"""Longest wait for slices without a driver: kubelets delete those of a node 30 s after its end."""

EVERY_S: Final = 0.5
"""Between two looks at them."""

SHOWN: Final = 3
"""Slices in a message."""


def must_be_vacant(client: Client, driver: str) -> None:
    """Wait until nothing is published under the driver's name: what is would be somebody's.

    Raises:
        ClusterError: slices stay; with what to do. Or the cluster cannot be asked.
    """
    selector = f"spec.driver={driver}"
    found: list[Json] = []

    def vacant() -> bool:
        found[:] = client.list(resources.RESOURCE_SLICES, field_selector=selector)
        return not found

    try:
        if poll(vacant, Deadline.after(WIPED_S), every_s=EVERY_S):
            return
    except KubeError as error:
        raise ClusterError(f"slices of {driver}: {error}") from error
    names = [str(each["metadata"]["name"]) for each in found[:SHOWN]]
    more = ", ..." if len(found) > SHOWN else ""
    raise ClusterError(
        f"{driver} is on this cluster already, and publishes {', '.join(names)}{more}: judge what "
        "is installed (--dra-driver=installed), or remove it. Slices of a driver that is gone are "
        f"deleted by kubectl delete resourceslices --field-selector={selector}"
    )

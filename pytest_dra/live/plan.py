"""How a driver gets onto a whole cluster: decided before anything is started."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.launch import Keeper
from pytest_dra.live.partner import Partner
from pytest_dra.spec import Json


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LivePlan:
    """See the module.

    Attributes:
        new: makes the cluster; nothing is started by that.
        join: finds the one that another process of the run has made, by its name.
        objects: what is deployed, in this order.
        previous: DaemonSets that take the place of those among them in cases of updates.
        images: given to the nodes before, where the local engine has them.
        pod_image: of the pods that use devices.
        own_allocator: ours gives devices to pods, else the cluster's kube-scheduler.
        shared: others use the cluster, so that cases which disturb them are not run.
        build: makes the images that are built for the run; None: there are none.
        partner: a second driver, for cases that need one.
        node: whose instance of the driver is judged; "": the first one's.
    """

    new: Callable[[Keeper], WholeCluster]
    join: Callable[[Keeper, str], WholeCluster]
    objects: tuple[Json, ...]
    images: tuple[str, ...]
    pod_image: str
    previous: tuple[Json, ...] = ()
    own_allocator: bool = False
    shared: bool = False
    build: Callable[[Path], None] | None = None
    partner: Partner | None = None
    node: str = ""

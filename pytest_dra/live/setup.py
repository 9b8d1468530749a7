"""What the bench of a whole cluster is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.live.meeting import Meeting
from pytest_dra.live.partner import Partner
from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Json


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LiveSetup:
    """What a bench is made of. ``objects`` are the driver's own, none where it is installed.

    ``previous`` are the DaemonSets of the previous release. ``folder`` makes empty folders, for
    builds. ``owner`` is the process that the run is: of several that use one cluster the one that
    has made it. ``meeting``: where they meet; ``joins``: another one of them has deployed.
    ``node``: whose instance of the driver is judged; "": the first one's.
    """

    cluster: WholeCluster
    profile: DriverProfile
    driver_name: str
    run: str
    version: KubernetesVersion = dataclasses.field(default_factory=kubernetes_version)
    objects: Sequence[Json] = ()
    previous: Sequence[Json] = ()
    images: Sequence[str] = ()
    pod_image: str = ""
    own_allocator: bool = False
    partner: Partner | None = None
    cdi_library: str = "1.1.0"
    folder: Callable[[], Path] = lambda: Path()
    owner: Owner = dataclasses.field(default_factory=Owner.here)
    meeting: Meeting | None = None
    joins: bool = False
    node: str = ""

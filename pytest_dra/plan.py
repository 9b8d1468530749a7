"""What is judged, and how: everything that has to be decided before the start."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from pytest_dra.bench.attached import Attachment
from pytest_dra.bench.soak import Soak
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.containers.fleet import Fleet
from pytest_dra.launch import Component
from pytest_dra.live.plan import LivePlan
from pytest_dra.profile import DriverProfile
from pytest_dra.profile.rights import Rights


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """See the module. ``benches``: so many cases at most are judged at the same time.

    ``attachment``: how a driver is waited for that somebody else starts; None: the suite starts it.
    ``patient``: deadlines are lifted. ``feature_gates``: those of the API server that are not at
    their defaults. ``binaries``: of a real API server; None: the embedded one. ``rights``: what the
    driver may do there; None: everything. ``live``: how the driver gets onto a whole cluster, which
    is judged then; None: it runs on the bench. ``wire``: what is judged at wire depth besides.
    ``fleet``: in containers on the bench; None: as processes.
    """

    components: tuple[Component, ...]
    driver_name: str | None
    profile: DriverProfile
    kubernetes: str
    cdi_library: str
    cel_engine: str = "own"
    jailed: bool = False
    previous: tuple[Component, ...] = ()
    benches: int = 1
    in_memory: bool = False
    binaries: Binaries | None = None
    feature_gates: Mapping[str, bool] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    rights: Rights | None = None
    soak: Soak = dataclasses.field(default_factory=Soak)
    replay: tuple[str, ...] = ()
    attachment: Attachment | None = None
    patient: bool = False
    live: LivePlan | None = None
    wire: Plan | None = None
    fleet: Fleet | None = None

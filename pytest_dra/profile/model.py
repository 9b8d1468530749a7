"""What a vendor says about a driver in ``dra-profile.yaml``, block by block.

All seconds are floats. A field that the file does not give has its default here; an empty string
or tuple means that nothing was given.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Json

API_VERSION = "pytest-dra.dev/v1alpha1"
KIND = "DriverProfile"

CDI_FEATURE = "CDIInjection"
NRI_FEATURE = "NRIInjection"

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Scope(str, enum.Enum):
    """Where a driver works: as a kubelet plugin, as a controller, or both."""

    NODE = "node"
    CLUSTER = "cluster"
    BOTH = "both"


class Hardware(str, enum.Enum):
    """What the bench gives to the driver."""

    REAL = "real"
    FAKE = "fake"
    NONE = "none"


class Injection(str, enum.Enum):
    """How devices get into containers."""

    CDI = "cdi"
    NRI = "nri"
    NONE = "none"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IdentityBlock:
    """Whose driver it is. All of it is needed for a report that is to be published."""

    organization: str = ""
    project: str = ""
    url: str = ""
    version: str = ""
    image: str = ""
    contact: tuple[str, ...] = ()

    def missing(self) -> tuple[str, ...]:
        """The fields that a published report needs and that are not given."""
        needed = ("organization", "project", "url", "version", "contact")
        return tuple(f"identity.{each}" for each in needed if not getattr(self, each))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """Kubernetes minors from ``min`` to ``max``, both included; None is open."""

    min: str | None = None
    max: str | None = None

    def __contains__(self, minor: str) -> bool:
        return (self.min is None or ordinal(self.min) <= ordinal(minor)) and (
            self.max is None or ordinal(minor) <= ordinal(self.max)
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """Something unusual that the vendor has a reason for: a right, a privilege, a mount."""

    what: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DriverBlock:
    """The driver itself. ``kubelets`` None: every kubelet of the suite.

    ``reads_boot_id`` False: it never looks at the kernel's boot id. ``takes_all_devices``: a claim
    holds every device of the node. ``one_claim_per_pod``: a pod has one claim of it at most.
    """

    name: str = ""
    device_classes: tuple[str, ...] = ()
    scope: Scope = Scope.NODE
    kubelets: VersionRange | None = None
    kubernetes: VersionRange | None = None
    domains: tuple[str, ...] = ()
    kind_attribute: str = ""
    version_attribute: str = ""
    volatile_attributes: tuple[str, ...] = ()
    overlaps: str = ""
    informational_taints: tuple[str, ...] = ()
    extended_resource: str = ""
    class_config_required: bool = False
    reads_boot_id: bool = True
    takes_all_devices: bool = False
    one_claim_per_pod: bool = False
    extra_rights: tuple[Exemption, ...] = ()
    privileges: tuple[Exemption, ...] = ()

    @property
    def registers(self) -> bool:
        """True unless it is a controller alone, which no kubelet knows."""
        return self.scope is not Scope.CLUSTER


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One process of the driver. ``command`` and ``env`` may hold :data:`PLACEHOLDERS`."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = dataclasses.field(default_factory=lambda: NOTHING)
    registers: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What is added to the first registering component for a given number of ``{devices}``."""

    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=lambda: NOTHING)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The previous release: either a command or an image."""

    command: tuple[str, ...] = ()
    image: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LaunchBlock:
    """How the driver is started at wire depth.

    ``service_account``: NAMESPACE/NAME of its pods' account, which then has the rights that the
    manifests grant it and no others. ``trees``: what is seen at absolute paths in the jail.
    """

    components: tuple[Component, ...] = ()
    writable: tuple[str, ...] = ()
    trees: Mapping[str, Path] = dataclasses.field(default_factory=lambda: NOTHING)
    state: tuple[str, ...] = ()
    in_cluster: bool = False
    service_account: str = ""
    hardware: Hardware = Hardware.REAL
    inventory: Inventory | None = None
    probe: tuple[str, ...] = ()
    previous: Previous | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A command in a container that lists devices, and how many it sees per device kind.

    ``always``: the same of kinds that nobody injects, and every container has.
    """

    command: tuple[str, ...]
    expect: Mapping[str, int]
    always: Mapping[str, int] = dataclasses.field(default_factory=lambda: NOTHING)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InjectionBlock:
    """How devices get into containers, and how a container shows it.

    ``absent_paths`` are host paths of the edits that the bench cannot have, ``review`` the hooks
    and the mounts of the host that they have; None: not declared.
    """

    kind: Injection = Injection.CDI
    probe: Probe | None = None
    absent_paths: tuple[str, ...] | None = None
    permanent: tuple[str, ...] = ()
    privileged: str = ""
    ambient: bool = False
    review: tuple[Exemption, ...] | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SamplesBlock:
    """Opaque parameters as the driver wants them, and a CEL selector of one given device."""

    good_config: tuple[Json, ...] = ()
    bad_config: tuple[Json, ...] = ()
    conflict: tuple[Json, ...] = ()
    canary_field: str = ""
    pin: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hotplug:
    """The commands that add and remove a device."""

    add: tuple[str, ...]
    remove: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HooksBlock:
    """Commands of the vendor that make something happen, or show it."""

    observe: tuple[str, ...] = ()
    inventory: tuple[str, ...] = ()
    fault: tuple[str, ...] = ()
    heal: tuple[str, ...] = ()
    hotplug: Hotplug | None = None
    crash_point: tuple[str, ...] = ()
    freeze: tuple[str, ...] = ()
    metadata_update: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """An exception that the vendor declares, until the end of the day ``expires``."""

    case: str
    reason: str
    link: str
    expires: datetime.date


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """How long things may take, in seconds; ``repeat`` is a number of calls.

    ``repair`` is the longest wait for slices that somebody else has changed or deleted; ``pod``
    that from a pod to its running containers on a cluster, ``release`` that from a pod's end to
    its claim's.

    The defaults are the catalogue's (its term *budgets*).
    """

    start: float = 30.0
    publish: float = 30.0
    repair: float = 150.0
    prepare: float = 40.0
    unprepare: float = 40.0
    repeat: int = 10
    latency_p99: float = 1.0
    binding: float = 600.0
    pod: float = 180.0
    release: float = 120.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DriverProfile:
    """A profile file, or what holds where there is none.

    Attributes:
        path: the file; None for :data:`DEFAULT_PROFILE`.
        data: the file's content as plain data, for the report (which redacts it).
        manifests: paths, relative ones made absolute from the folder of the file.
        features: by feature, what the file declares; see :meth:`declares`.
    """

    path: Path | None = None
    data: Json = dataclasses.field(default_factory=dict)
    identity: IdentityBlock = IdentityBlock()
    driver: DriverBlock = DriverBlock()
    launch: LaunchBlock = LaunchBlock()
    manifests: tuple[Path, ...] = ()
    injection: InjectionBlock = InjectionBlock()
    samples: SamplesBlock = SamplesBlock()
    hooks: HooksBlock = HooksBlock()
    features: Mapping[str, bool] = dataclasses.field(default_factory=lambda: NOTHING)
    waivers: Mapping[str, Waiver] = dataclasses.field(default_factory=lambda: NOTHING)
    budgets: Budgets = Budgets()

    def declares(self, feature: str) -> bool:
        """True if the driver is said to have this feature of the catalogue.

        What the file does not name follows ``injection.kind`` (CDIInjection, NRIInjection) or
        the catalogue's default.

        Raises:
            KeyError: the catalogue has no such feature.
        """
        known = catalogue().feature(feature)
        if feature in self.features:
            return self.features[feature]
        if feature == CDI_FEATURE:
            return self.injection.kind is Injection.CDI
        if feature == NRI_FEATURE:
            return self.injection.kind is Injection.NRI
        return known.default

    def gives(self, field: str) -> bool:
        """True if the vendor gave the profile field that a case needs, such as ``hooks.fault``.

        Raises:
            KeyError: the catalogue has no such input.
        """
        if field not in catalogue().inputs:
            raise KeyError(f"no input {field!r} in the catalogue")
        found: object = self
        for step in field.split("."):
            found = getattr(found, FIELD_NAMES.get(step, step))
        return found is not None if field in MAY_BE_EMPTY else bool(found)


FIELD_NAMES = {"deviceClasses": "device_classes"}
"""Fields of the file whose attribute here has another name."""

MAY_BE_EMPTY = frozenset({"injection.review"})
"""Inputs that say something where they list nothing: there is none."""

PLACEHOLDERS = (
    "kubeconfig",
    "node",
    "driver_name",
    "registry_dir",
    "plugins_dir",
    "driver_dir",
    "cdi_dir",
    "static_cdi_dir",
    "pod_uid",
)
"""What a component's command and environment may hold in braces, and the launcher fills in."""

DEFAULT_PROFILE = DriverProfile()
"""A node driver that injects by CDI and declares what the catalogue declares by default."""


def ordinal(minor: str) -> tuple[int, ...]:
    """A Kubernetes version as numbers, for comparison: ``"1.34"`` is ``(1, 34)``."""
    return tuple(int(part) for part in minor.split("."))

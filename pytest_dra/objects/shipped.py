"""The manifests of a driver, judged by the static cases that need them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.releases import VERSIONS
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.cel.releases import environment_of
from pytest_dra.checks import roles
from pytest_dra.checks import workloads
from pytest_dra.checks.flaws import Flaw
from pytest_dra.objects.reading import Given
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.reading import read_files
from pytest_dra.objects.refusing import Server
from pytest_dra.objects.usage import CLASSES
from pytest_dra.objects.usage import Shop
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import Injection
from pytest_dra.profile.rights import files_of
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable

CHART: Final = "Chart.yaml"


class Shipped:
    """What the manifests of a profile hold.

    Args:
        given: all objects.
        profile: what the vendor says.
        driver: the driver's name.
    """

    def __init__(self, given: Sequence[Given], profile: DriverProfile, *, driver: str) -> None:
        self.given = given
        self.profile = profile
        self.driver = driver
        self.objects = [{**one.body, "kind": one.kind} for one in given]
        found = map(workloads.workload_of, self.objects)
        self.workloads = [one for one in found if one is not None]

    def flaw(self, case: str) -> Flaw | None:
        """The first flaw that a case finds; None if there is none.

        Raises:
            NotApplicable: the manifests have nothing that the case judges.
        """
        return next(iter(OF_MANIFESTS[case](self)), None)


def read_shipped(paths: Iterable[Path]) -> list[Given]:
    """The objects of files and folders.

    Raises:
        ReadingError: one of them cannot be read, or is a chart, which has to be rendered before.
    """
    files: list[str] = []
    for path in paths:
        if (path / CHART).exists():
            raise ReadingError(str(path), 0, "a chart; render it first: helm template")
        files += map(str, files_of([path]))
    return read_files(files)


def _classes(shipped: Shipped) -> Iterator[Flaw]:
    """Each class and template is accepted by every version that the driver is for."""
    found = [one for one in shipped.given if one.kind in CLASSES]
    if not found:
        raise NotApplicable("there is no DeviceClass or ResourceClaimTemplate in the manifests")
    span = shipped.profile.driver.kubernetes
    for name in VERSIONS:
        if span is not None and name not in span:
            continue
        server = Server(kubernetes_version(name))
        for one in found:
            judged = server.judge(one)
            for cause in judged.refused if judged is not None else ():
                yield Flaw(
                    item=one.body,
                    field=cause.field,
                    where=f"{cause.field} of {one.kind} {one.name} ({one.file}:{one.line})",
                    got=cause.message,
                    want=f"what the API server of Kubernetes {name} accepts",
                )


def classes_of(
    given: Sequence[Given],
    slices: Sequence[Json],
    *,
    version: KubernetesVersion,
    wanted: Collection[str],
) -> Shop:
    """The DeviceClasses of manifests beside the slices that a driver has published.

    Classes that a server would refuse are left out: that is another case. ``wanted`` must match.

    Raises:
        NotApplicable: there is no class.
    """  # fmt: skip
    server = Server(version)
    found = [one for one in given if one.kind == resources.DEVICE_CLASSES.kind]
    if not found:
        raise NotApplicable("there is no DeviceClass in the manifests")
    judged = [server.judge(one) for one in found]
    return Shop(
        slices=slices,
        classes=[one.sent for one in judged if one and one.sent is not None and not one.refused],
        claims=(),
        templates=(),
        environment=environment_of(version, stored=True),
        wanted=wanted,
    )


def _plugin_rights(shipped: Shipped) -> Iterator[Flaw]:
    exempt = [each.what for each in shipped.profile.driver.extra_rights]
    seen: set[str] = set()
    for plugin in workloads.plugins_among(shipped.workloads):
        rights = roles.rights_of(plugin, shipped.objects)
        for flaw in roles.rights_must_be_few(rights, exempt=exempt):
            if f"{flaw.where} {flaw.got}" not in seen:
                seen.add(f"{flaw.where} {flaw.got}")
                yield flaw


def _status_rights(shipped: Shipped) -> Iterator[Flaw]:
    every = [roles.rights_of(each, shipped.objects) for each in shipped.workloads]
    return roles.status_writes_must_be_covered(every, driver=shipped.driver)


def _privileges(shipped: Shipped) -> Iterator[Flaw]:
    if not shipped.workloads:
        raise NotApplicable("the manifests make no pods")
    exempt = [each.what for each in shipped.profile.driver.privileges]
    return workloads.privileges_must_have_reasons(shipped.workloads, exempt=exempt)


def _plugins(shipped: Shipped) -> Iterator[Flaw]:
    return workloads.plugins_must_be_fit_for_nodes(
        workloads.plugins_among(shipped.workloads),
        seamless=shipped.profile.declares("SeamlessUpgrade"),
        injects_cdi=shipped.profile.injection.kind is Injection.CDI,
    )


def _probes(shipped: Shipped) -> Iterator[Flaw]:
    return workloads.plugins_must_be_probed(workloads.plugins_among(shipped.workloads))


OF_MANIFESTS: Final[Mapping[str, Callable[[Shipped], Iterator[Flaw]]]] = MappingProxyType(
    {
        "ATTR-013": _classes,
        "HLTH-011": _probes,
        "LIFE-006": _plugins,
        "SEC-001": _plugin_rights,
        "SEC-007": _privileges,
        "STAT-004": _status_rights,
    }
)
"""Cases that need manifests."""

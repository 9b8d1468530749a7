"""The static cases that look at what the vendor ships in manifests."""

from __future__ import annotations

from pytest_dra.bench.bench import Bench
from pytest_dra.checks.flaws import Flaw
from pytest_dra.objects import usage
from pytest_dra.objects.reading import Given
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.shipped import Shipped
from pytest_dra.objects.shipped import classes_of
from pytest_dra.objects.shipped import read_shipped
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation


def manifests_must_pass(bench: Bench, case: str) -> None:
    """Judge the manifests of the profile.

    Raises:
        Violation: the first flaw.
        NotApplicable: they have nothing that the case judges.
        UnsupportedEnvironment: they cannot be read.
    """
    _must_be_none(Shipped(_given(bench), bench.profile, driver=bench.driver).flaw(case))


def classes_must_select(bench: Bench) -> None:
    """Judge the DeviceClasses of the manifests on the devices that the driver has published.

    Raises: as :func:`manifests_must_pass`.
    """
    shop = classes_of(
        _given(bench),
        bench.published(),
        version=bench.cluster.version,
        wanted=bench.profile.driver.device_classes,
    )
    _must_be_none(next(usage.classes_must_select(shop), None))


def objects_of(bench: Bench) -> list[Json]:
    """All objects of the manifests.

    Raises:
        UnsupportedEnvironment: they cannot be read.
    """
    return [{**one.body, "kind": one.kind} for one in _given(bench)]


def _given(bench: Bench) -> list[Given]:
    try:
        return read_shipped(bench.profile.manifests)
    except ReadingError as error:
        raise UnsupportedEnvironment(
            f"manifests: {error}", way_out="name readable YAML files in manifests of the profile"
        ) from error


def _must_be_none(flaw: Flaw | None) -> None:
    if flaw is not None:
        raise Violation(flaw.where, got=flaw.got, want=flaw.want)

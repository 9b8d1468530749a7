"""Manifests of a profile, and what the cases find in them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_dra.checks.flaws import Flaw
from pytest_dra.fake_driver.faults_manifests import Everything
from pytest_dra.fake_driver.faults_manifests import StatusAlone
from pytest_dra.fake_driver.faults_manifests import Undeclared
from pytest_dra.fake_driver.faults_manifests import WholeHost
from pytest_dra.fake_driver.manifests import Manifests
from pytest_dra.objects.reading import ReadingError
from pytest_dra.objects.reading import parse
from pytest_dra.objects.shipped import OF_MANIFESTS
from pytest_dra.objects.shipped import Shipped
from pytest_dra.objects.shipped import read_shipped
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.profile.model import VersionRange
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable
from tests.objects.sample import device_class
from tests.objects.sample import rules
from tests.objects.sample import text_of

PROFILE = dataclasses.replace(DEFAULT_PROFILE, features={"SeamlessUpgrade": True})


def flaw(case: str, *objects: Json, profile: DriverProfile = PROFILE) -> Flaw | None:
    given = parse(text_of(*objects), "f.yaml")
    return Shipped(given, profile, driver="fake.dra.example").flaw(case)


@pytest.mark.parametrize("case", sorted(set(OF_MANIFESTS) - {"STAT-004"}))
def test_the_fake_drivers_manifests_are_right(case: str) -> None:
    assert flaw(case, *Manifests().objects()) is None


@pytest.mark.parametrize("case", OF_MANIFESTS)
def test_without_the_objects_a_case_concerns_nobody(case: str) -> None:
    with pytest.raises(NotApplicable):
        flaw(case, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})


def test_classes_are_judged_for_the_versions_of_the_driver() -> None:
    shared = device_class("c", "device.allowMultipleAllocations == true")
    found = flaw("ATTR-013", shared)
    assert found is not None
    assert found.where == "spec.selectors[0].cel.expression of DeviceClass c (f.yaml:1)"
    new = VersionRange(min="1.36")
    driver = dataclasses.replace(PROFILE.driver, kubernetes=new)
    assert flaw("ATTR-013", shared, profile=dataclasses.replace(PROFILE, driver=driver)) is None


def test_files_and_folders_are_read_and_charts_are_not(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_bytes(text_of(device_class("b")))
    (tmp_path / "a.yml").write_bytes(text_of(device_class("a")))
    (tmp_path / "README.md").write_text("no manifest")
    assert [one.name for one in read_shipped([tmp_path])] == ["a", "b"]
    assert [one.name for one in read_shipped([tmp_path / "b.yaml"])] == ["b"]
    (tmp_path / "Chart.yaml").write_text("name: x")
    with pytest.raises(ReadingError, match="a chart; render it first"):
        read_shipped([tmp_path])
    with pytest.raises(ReadingError, match="No such file"):
        read_shipped([tmp_path / "none.yaml"])


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        (Everything, "SEC-001"),
        (StatusAlone, "STAT-004"),
        (Undeclared, "ATTR-013"),
        (WholeHost, "SEC-007"),
    ],
)
def test_a_review_of_files_finds_the_same(fault: type[Manifests], case: str) -> None:
    assert case in rules(*fault().objects())
    assert case not in rules(*Manifests().objects())

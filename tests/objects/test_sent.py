"""Slices as they were sent: refused, dropped, or broken in themselves."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.checks.flaws import Flaw
from pytest_dra.objects.reading import Given
from pytest_dra.objects.sent import Inspector
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable
from tests.objects.sample import device
from tests.objects.sample import resource_slice


def given(item: Json) -> Given:
    return Given(file="", line=0, api_version=item["apiVersion"], kind="ResourceSlice", body=item)


def flaw(
    case: str,
    *standing: Json,
    sent: tuple[Json, ...] = (),
    kubernetes: str = "1.37",
    profile: DriverProfile = DEFAULT_PROFILE,
) -> Flaw | None:
    inspector = Inspector(kubernetes_version(kubernetes), profile)
    return inspector.look(map(given, sent), map(given, standing)).flaw(case)


def spoiled(**fields: Any) -> Json:
    return resource_slice(devices=[device("gpu-0", **fields)])


CONSUMED = {"counterSet": "c", "counters": {"m": {"value": "1"}}}
TAINT = {"key": "gpu.example.com/bad", "effect": "Evict"}

DROPPED = [
    ("TAINT-001", "1.34", {"taints": [TAINT]}),
    ("TAINT-001", "1.37", {"taints": [TAINT]}),
    ("PART-003", "1.35", {"consumesCounters": [CONSUMED] * 3}),
    ("PART-012", "1.37", {"consumesCounters": [{**CONSUMED, "compatibilityGroups": ["a"] * 2}]}),
    ("PART-012", "1.37", {"consumesCounters": [{**CONSUMED, "compatibilityGroups": [*"abc"]}]}),
    ("BIND-001", "1.34", {"bindingFailureConditions": ["failed"]}),
    ("LIFE-011", "1.37", {"nodeAllocatableResources": {"example.com/foo": {"overhead": {}}}}),
    ("LIFE-011", "1.37", {"nodeAllocatableResources": {"cpu": {}}}),
    ("LIFE-011", "1.37", {"nodeAllocatableResources": {"cpu": {"overhead": {"perPod": "-1"}}}}),
]


@pytest.mark.parametrize(("case", "kubernetes", "fields"), DROPPED)
def test_what_a_server_drops_is_judged_as_with_its_gate(
    case: str, kubernetes: str, fields: Json
) -> None:
    found = flaw(case, spoiled(**fields), kubernetes=kubernetes)
    assert found is not None
    assert "of ResourceSlice node-a-gpu of pool 'node-a'" in found.where
    assert found.want == f"what the API server of Kubernetes {kubernetes} accepts"


def test_legal_fields_of_closed_gates_are_no_flaw() -> None:
    cpu = {"mapping": {"deviceMultiplier": "2"}}
    pages = {"overhead": {"perContainer": "0"}}
    legal = spoiled(nodeAllocatableResources={"cpu": cpu, "hugepages-2Mi": pages})
    assert flaw("LIFE-011", legal) is None


def test_a_list_attribute_is_refused_while_its_gate_is_off() -> None:
    assert flaw("ATTR-001", spoiled(attributes={"formats": {"strings": ["a"]}})) is not None
    gates = {"DRAListTypeAttributes": True}
    inspector = Inspector(kubernetes_version("1.37").with_gates(gates), DEFAULT_PROFILE)
    item = given(spoiled(attributes={"formats": {"strings": ["a"]}}))
    assert inspector.look([], [item]).flaw("ATTR-001") is None


def test_what_is_not_published_any_more_is_judged_by_itself_alone() -> None:
    past = spoiled(attributes={"model": {"int": 1}, "no-name": {"int": 1}})
    assert flaw("ATTR-005", resource_slice(), sent=(past,)) is None
    found = flaw("ATTR-002", resource_slice(), sent=(past,))
    assert found is not None
    assert "no-name" in str(found.got)


def test_quantities_are_judged_as_they_were_written() -> None:
    found = flaw("ATTR-012", spoiled(capacity={"memory": {"value": "0.0000000001"}}))
    assert found is not None
    assert found.got == "0.0000000001"


def test_slices_of_older_versions_of_the_api_are_judged_too() -> None:
    basic = {"attributes": {"model": {"string": "x" * 65}}}
    old = resource_slice(devices=[{"name": "gpu-0", "basic": basic}])
    old["apiVersion"] = "resource.k8s.io/v1beta1"
    found = flaw("ATTR-004", old)
    assert found is not None
    assert found.field == "spec.devices[0].basic.attributes[model].string"


def test_a_feature_that_is_not_used_concerns_nobody() -> None:
    for case in ("PART-001", "TAINT-001", "CAP-001", "BIND-001", "LIFE-011"):
        with pytest.raises(NotApplicable, match="no slice has"):
            flaw(case, resource_slice())


def test_the_profile_names_the_attributes() -> None:
    driver = dataclasses.replace(DEFAULT_PROFILE.driver, version_attribute="driverVersion")
    profile = dataclasses.replace(DEFAULT_PROFILE, driver=driver)
    assert flaw("ATTR-010", resource_slice(), profile=profile) is not None


def test_the_slice_that_a_flaw_is_in_is_known_though_another_says_the_same() -> None:
    inspector = Inspector(kubernetes_version("1.37"), DEFAULT_PROFILE)
    first, second = (given(spoiled(attributes={"a": {}})) for _ in range(2))
    inspection = inspector.look([first], [second])
    found = inspection.flaw("ATTR-001")
    assert found is not None
    assert inspection.given(found) in (first, second)

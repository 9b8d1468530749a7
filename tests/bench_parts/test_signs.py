"""Signs of features in what a driver sends."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.bench import signs
from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Json
from tests.bench_parts.requests import api_request

GROUPED = {"counterSet": "s", "compatibilityGroups": ["even"]}


def _sent(*devices: Json, **fields: Any) -> Json:
    return {"spec": {"devices": list(devices), **fields}}


@pytest.mark.parametrize(
    ("body", "features"),
    [
        ({}, set()),
        (_sent({"name": "a", "attributes": {"x": {"int": 1}}}, nodeName="n"), set()),
        (_sent({"taints": []}), set()),
        (_sent({"taints": [{"key": "k"}]}), {"DeviceTaints"}),
        (_sent({"consumesCounters": [GROUPED]}), {"PartitionableDevices", "CompatibilityGroups"}),
        (_sent({"attributes": {"x": {"strings": ["a"]}}}), {"ListAttributes"}),
        (_sent(skipNodeOperations=["*"], allNodes=True), {"OptionalNodeOps", "NetworkAttached"}),
        (_sent(sharedCounters=[{"name": "s"}]), {"PartitionableDevices"}),
        (_sent({"bindingConditions": ["c"], "allowMultipleAllocations": True}),
         {"BindingConditions", "ConsumableCapacity"}),
    ],
)  # fmt: skip
def test_fields_of_slices_are_signs(body: Json, features: set[str]) -> None:
    assert set(signs.in_slices([{}, body])) == features


def test_a_health_service_in_getinfo_is_a_sign() -> None:
    assert set(signs.advertised(["v1.DRAPlugin"])) == set()
    assert set(signs.advertised(["v1.DRAPlugin", "v1.DRAResourceHealth"])) == {"DeviceHealth"}


def test_only_writes_of_the_drivers_to_the_status_of_claims_count() -> None:
    event = api_request(
        "patch", "c", resource="resourceclaims", namespace="n", subresource="status", body={}
    )
    assert signs.is_status_write(event, ["driver"])
    assert not signs.is_status_write(event, ["another"])


def test_every_feature_with_a_sign_is_one_of_the_catalogue() -> None:
    assert set(catalogue().features) >= signs.SHOWN

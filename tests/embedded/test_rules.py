"""Rules of slices and claims: a 422 names field and reason of every cause."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline
from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import allocation
from tests.embedded.client import claim
from tests.embedded.client import slice_

POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
COUNTERS = [{"name": "s", "counters": {"m": {"value": 1}}}]


def _device(**fields: Any) -> Json:
    return {"devices": [{"name": "d", **fields}]}


SLICE_RULES: list[tuple[Json, set[tuple[str, str]]]] = [
    ({"driver": "a" * 64}, {("spec.driver", "TooLong")}),
    ({"driver": ""}, {("spec.driver", "Required")}),
    ({"pool": {**POOL, "name": "a//b"}}, {("spec.pool.name", "Invalid")}),
    ({"pool": {**POOL, "generation": -1}}, {("spec.pool.generation", "Invalid")}),
    ({"pool": {**POOL, "resourceSliceCount": 0}}, {("spec.pool.resourceSliceCount", "Invalid")}),
    ({"nodeName": None}, {("spec", "Required")}),
    ({"allNodes": True}, {("spec", "Invalid")}),
    ({"nodeName": None, "allNodes": False}, {("spec", "Required"), ("spec.allNodes", "Invalid")}),
    ({"devices": [], "sharedCounters": COUNTERS}, {("spec", "Invalid")}),
    ({"devices": [{"name": f"d-{n}"} for n in range(129)]}, {("spec.devices", "TooMany")}),
    (
        {
            "devices": [
                {"name": f"d-{n}", "taints": [{"key": "k", "effect": "NoSchedule"}]}
                for n in range(65)
            ]
        },
        {("spec.devices", "TooMany")},
    ),
    ({"devices": [{"name": "a"}, {"name": "a"}]}, {("spec.devices[1]", "Duplicate")}),
    ({"devices": [{"name": "A"}]}, {("spec.devices[0].name", "Invalid")}),
    (
        _device(attributes={f"a{n}": {"int": 1} for n in range(33)}),
        {("spec.devices[0]", "Invalid")},
    ),
    (_device(attributes={"a": {}}), {("spec.devices[0].attributes[a]", "Invalid")}),
    (
        _device(attributes={"a": {"int": 1, "bool": True}}),
        {("spec.devices[0].attributes[a]", "Invalid")},
    ),
    (
        _device(attributes={"a": {"string": "é" * 33}}),
        {("spec.devices[0].attributes[a].string", "TooLong")},
    ),
    (
        _device(attributes={"v": {"version": "1.2"}}),
        {("spec.devices[0].attributes[v].version", "Invalid")},
    ),
    (_device(attributes={"a-b": {"int": 1}}), {("spec.devices[0].attributes", "Invalid")}),
    (
        _device(taints=[{"key": f"k{n}", "effect": "None"} for n in range(17)]),
        {("spec.devices[0].taints", "TooMany")},
    ),
    (
        _device(taints=[{"key": "k", "effect": "PreferNoSchedule"}]),
        {("spec.devices[0].taints[0].effect", "NotSupported")},
    ),
    (
        _device(consumesCounters=[{"counterSet": "s"}]),
        {("spec.devices[0].consumesCounters[0].counters", "Required")},
    ),
    (
        _device(bindingConditions=["ready"]),
        {("spec.devices[0].bindingFailureConditions", "Invalid")},
    ),
    (
        _device(capacity={"m": {"value": "1", "requestPolicy": {"default": "1"}}}),
        {("spec.devices[0].capacity[m].requestPolicy", "Forbidden")},
    ),
]


@pytest.mark.parametrize(("spec", "causes"), SLICE_RULES)
def test_a_bad_slice_is_422(client: Client, spec: Json, causes: set[tuple[str, str]]) -> None:
    answer = client.post(SLICES, slice_(**spec))
    assert (answer.code, answer.causes) == (422, causes)
    assert answer.json["details"]["kind"] == "ResourceSlice"


@pytest.mark.parametrize(
    "spec",
    [
        {"driver": "a" * 63},
        {"pool": {**POOL, "name": "a/b"}},
        {"devices": [{"name": f"d-{n}"} for n in range(128)]},
        _device(attributes={"a/b/c": {"int": 1}}),
        _device(attributes={"a": {"string": "x" * 64}}),
        _device(taints=[{"key": "k", "effect": "None"}, {"key": "k", "effect": "None"}]),
        _device(consumesCounters=[{"counterSet": "none", "counters": {"m": {"value": 1}}}]),
        {"devices": None, "sharedCounters": COUNTERS},
        {"nodeName": None, "perDeviceNodeSelection": True, **_device(allNodes=True)},
    ],
)
def test_what_is_just_legal_passes(client: Client, spec: Json) -> None:
    assert client.post(SLICES, slice_(**spec)).code == 201


def test_driver_pool_and_node_of_a_slice_never_change(client: Client) -> None:
    client.post(SLICES, slice_())
    changed = slice_(driver="x.example.com", nodeName="b", pool={**POOL, "name": "q"})
    assert client.put(f"{SLICES}/s", changed).causes == {
        ("spec.driver", "Invalid"),
        ("spec.nodeName", "Invalid"),
        ("spec.pool.name", "Invalid"),
    }


def test_an_upper_case_driver_name_passes_with_a_warning(client: Client) -> None:
    answer = client.post(SLICES, slice_(driver="GPU.example.com"))
    assert answer.code == 201
    assert answer.headers["warning"].startswith("299 ")


def test_a_new_taint_gets_a_time(client: Client) -> None:
    made = client.post(SLICES, slice_(**_device(taints=[{"key": "k", "effect": "NoSchedule"}])))
    taint = made.json["spec"]["devices"][0]["taints"][0]
    assert taint["timeAdded"].endswith("Z")


def _requests(*requests: Json) -> Json:
    return {"spec": {"devices": {"requests": list(requests)}}}


EXACT = {"deviceClassName": "x"}

CLAIM_RULES: list[tuple[Json, set[tuple[str, str]]]] = [
    (_requests({"name": "a"}), {("spec.devices.requests[0]", "Required")}),
    (
        _requests({"name": "a", "exactly": EXACT}, {"name": "a", "exactly": EXACT}),
        {("spec.devices.requests[1]", "Duplicate")},
    ),
    (
        _requests(*[{"name": f"r{n}", "exactly": EXACT} for n in range(33)]),
        {("spec.devices.requests", "TooMany")},
    ),
    (
        _requests({"name": "a", "exactly": {}}),
        {("spec.devices.requests[0].exactly.deviceClassName", "Required")},
    ),
    (
        _requests({"name": "a", "exactly": {**EXACT, "allocationMode": "All", "count": 1}}),
        {("spec.devices.requests[0].exactly.count", "Invalid")},
    ),
    (
        _requests({"name": "a", "exactly": {**EXACT, "adminAccess": True}}),
        {("spec.devices.requests[0].adminAccess", "Forbidden")},
    ),
    (
        {"spec": {"devices": {"constraints": [{"requests": ["x"]}]}}},
        {
            ("spec.devices.constraints[0]", "Required"),
            ("spec.devices.constraints[0].requests[0]", "Invalid"),
        },
    ),
    (
        {"spec": {"devices": {"config": [{"opaque": {"driver": "x", "parameters": [1]}}]}}},
        {("spec.devices.config[0].opaque.parameters", "Invalid")},
    ),
]


@pytest.mark.parametrize(("more", "causes"), CLAIM_RULES)
def test_a_bad_claim_is_422(client: Client, more: Json, causes: set[tuple[str, str]]) -> None:
    answer = client.post(CLAIMS, claim(**more))
    assert (answer.code, answer.causes) == (422, causes)


def test_the_spec_of_a_claim_never_changes(client: Client) -> None:
    client.post(CLAIMS, claim())
    changed = claim(**_requests({"name": "r0", "exactly": {**EXACT, "count": 2}}))
    assert client.put(f"{CLAIMS}/c", changed).causes == {("spec", "Invalid")}


def test_an_empty_list_is_no_change_from_none(client: Client) -> None:
    body = claim(spec={"devices": {"requests": []}})
    made = client.post(CLAIMS, body).json
    assert made["spec"] == {"devices": {"requests": None}}
    assert client.put(f"{CLAIMS}/c", body).json == made
    client.post(SLICES, slice_())
    assert client.put(f"{SLICES}/s", slice_(devices=[])).json["metadata"]["generation"] == 1


def _status(**status: Any) -> Json:
    return claim(status={"allocation": allocation(), **status})


def test_allocations_are_set_once_and_reservations_need_them(client: Client) -> None:
    client.post(CLAIMS, claim())
    consumer = {"resource": "pods", "name": "p", "uid": "u"}
    early = claim(status={"reservedFor": [consumer]})
    forbidden = {("status.reservedFor", "Forbidden")}
    assert client.put(f"{CLAIMS}/c/status", early).causes == forbidden
    assert client.put(f"{CLAIMS}/c/status", _status(reservedFor=[consumer])).code == 200
    other = claim(status={"allocation": allocation("gpu-1"), "reservedFor": [consumer]})
    assert client.put(f"{CLAIMS}/c/status", other).causes == {("status.allocation", "Invalid")}
    assert client.put(f"{CLAIMS}/c/status", early).causes == forbidden
    many = [{**consumer, "uid": f"u{n}"} for n in range(257)]
    too_many = {("status.reservedFor", "TooMany")}
    assert client.put(f"{CLAIMS}/c/status", _status(reservedFor=many)).causes == too_many


DEVICE = {"driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}


@pytest.mark.parametrize(
    ("device", "causes"),
    [
        ({**DEVICE, "device": "gpu-7"}, {("status.devices[0]", "Invalid")}),
        ({**DEVICE, "data": [1]}, {("status.devices[0].data", "Invalid")}),
        (
            {**DEVICE, "networkData": {"ips": ["192.0.2.5"]}},
            {("status.devices[0].networkData.ips[0]", "Invalid")},
        ),
        (
            {**DEVICE, "networkData": {"interfaceName": "x" * 257}},
            {("status.devices[0].networkData.interfaceName", "TooLong")},
        ),
        (
            {**DEVICE, "conditions": [{"type": "Ready", "status": "Yes", "reason": "R"}]},
            {
                ("status.devices[0].conditions[0].status", "NotSupported"),
                ("status.devices[0].conditions[0].lastTransitionTime", "Required"),
            },
        ),
    ],
)
def test_a_bad_device_status_is_422(
    client: Client, device: Json, causes: set[tuple[str, str]]
) -> None:
    client.post(CLAIMS, claim())
    assert client.put(f"{CLAIMS}/c/status", _status(devices=[device])).causes == causes


def test_admin_access_needs_a_labelled_namespace(client: Client) -> None:
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    client.patch("/api/v1/namespaces/default", label)
    body = claim(**_requests({"name": "a", "exactly": {**EXACT, "adminAccess": True}}))
    assert client.post(CLAIMS, body).code == 201


def test_fields_behind_a_gate_that_is_off_go_silently() -> None:
    server = ApiServer(
        timeline=Timeline(), tokens={"admin-token": User("admin")}, kubernetes="1.35"
    )
    server.start()
    try:
        client = Client(server.url)
        device = _device(taints=[{"key": "k", "effect": "NoSchedule"}], bindsToNode=True)
        made = client.post(SLICES, slice_(**device))
        assert made.json["spec"]["devices"] == [{"name": "d"}]
        assert client.get("/version").json["minor"] == "35"
        assert client.get(SLICES, fieldSelector="spec.pool.name=x").code == 400
    finally:
        server.stop()


def test_a_gate_can_be_turned() -> None:
    server = ApiServer(
        timeline=Timeline(),
        tokens={"admin-token": User("admin")},
        gates={"DRADeviceTaints": False, "DRAListTypeAttributes": True},
    )
    server.start()
    try:
        device = _device(
            taints=[{"key": "k", "effect": "NoSchedule"}], attributes={"a": {"ints": [1, 2]}}
        )
        made = Client(server.url).post(SLICES, slice_(**device))
        assert made.json["spec"]["devices"] == [
            {"name": "d", "attributes": {"a": {"ints": [1, 2]}}}
        ]
    finally:
        server.stop()

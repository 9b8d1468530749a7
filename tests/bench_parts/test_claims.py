"""Claims as the suite makes them: asked for, allocated and reserved without a scheduler."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_dra.api.resources import NAMESPACES
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.bench.claims import DECOY_DRIVER
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import Claims
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.claims import decoy
from pytest_dra.bench.claims import result
from pytest_dra.bench.claims import results_of
from pytest_dra.bench.configuring import FROM_CLASS
from pytest_dra.bench.configuring import entries
from pytest_dra.bench.devices import Device
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json
from tests.bench_parts.stub import StubClient

DRIVER = "gpu.example.com"
GPU = Device(pool="node-a", name="gpu-0", spec={})
OTHER = Device(pool="node-a", name="gpu-1", spec={})
ONE = [Wanted(request="req-0", devices=(GPU,))]


@pytest.fixture
def client() -> StubClient:
    return StubClient()


@pytest.fixture
def claims(client: StubClient) -> Claims:
    return Claims(client, namespace="ns", class_name="any.example.com")


def stored(client: StubClient, claim: Claim) -> Json:
    """The object behind a claim."""
    return client.objects[(RESOURCE_CLAIMS.plural, claim.namespace, claim.name)]


def test_a_claim_asks_for_what_it_will_get(client: StubClient, claims: Claims) -> None:
    wanted = [
        Wanted(request="two", devices=(GPU, OTHER)),
        Wanted(request="all", devices=(GPU,), mode="All"),
        Wanted(request="foreign", devices=()),
    ]
    claim = claims.create(wanted, config=[{"opaque": {"driver": DRIVER, "parameters": {}}}])
    assert claim.requests == ("two", "all", "foreign")
    assert (claim.namespace, claim.results) == ("ns", ())
    assert stored(client, claim)["spec"]["devices"] == {
        "requests": [
            {"name": "two", "exactly": _exactly("ExactCount", count=2)},
            {"name": "all", "exactly": _exactly("All")},
            {"name": "foreign", "exactly": _exactly("ExactCount", count=1)},
        ],
        "config": [{"opaque": {"driver": DRIVER, "parameters": {}}}],
    }


def _exactly(mode: str, **more: int) -> Json:
    return {"deviceClassName": "any.example.com", "allocationMode": mode, **more}


def test_namespace_and_class_are_made_once(client: StubClient, claims: Claims) -> None:
    claims.create(ONE)
    claims.create(ONE, namespace="long")
    claims.create(ONE)
    made = [name for verb, name in client.asked if verb == "create" and "claim-" not in name]
    assert made == ["ns", "any.example.com", "long"]


def test_a_namespace_that_is_there_is_used(client: StubClient, claims: Claims) -> None:
    client.create(NAMESPACES, {"metadata": {"name": "ns"}})
    assert claims.create(ONE).namespace == "ns"


def test_a_name_that_is_given_is_taken_and_others_are_unlike(claims: Claims) -> None:
    assert claims.create(ONE, name="mine").name == "mine"
    assert claims.create(ONE).name != claims.create(ONE).name


def test_an_allocation_is_written_as_the_scheduler_would(
    client: StubClient, claims: Claims
) -> None:
    parameters = {"apiVersion": "gpu.example.com/v1", "kind": "GpuConfig"}
    config = [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
    results = results_of(ONE, driver=DRIVER)
    claim = claims.allocate(claims.create(ONE), results, node="node-a", config=config)
    status = stored(client, claim)["status"]
    assert status["allocation"] == {
        "devices": {
            "results": [
                {"request": "req-0", "driver": DRIVER, "pool": "node-a", "device": "gpu-0"}
            ],
            "config": [
                {
                    "source": "FromClaim",
                    "requests": [],
                    "opaque": {"driver": DRIVER, "parameters": parameters},
                }
            ],
        },
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}
            ]
        },
    }
    (pod,) = status["reservedFor"]
    assert (pod["resource"], pod["name"]) == ("pods", f"pod-{claim.name}")
    assert uuid.UUID(pod["uid"])
    assert ("replace status", claim.name) in client.asked
    assert claim.pairs(DRIVER) == {("node-a", "gpu-0")}


def test_the_pod_of_the_longest_claim_name_has_a_legal_name(
    client: StubClient, claims: Claims
) -> None:
    claim = claims.create(ONE, name="c" * 253)
    claims.allocate(claim, [], node="node-a")
    (pod,) = stored(client, claim)["status"]["reservedFor"]
    assert len(pod["name"]) <= 63


def test_a_freed_claim_has_neither_allocation_nor_reservation(
    client: StubClient, claims: Claims
) -> None:
    claim = claims.create(ONE)
    freed = claims.deallocate(claims.allocate(claim, results_of(ONE, driver=DRIVER), node="node-a"))
    assert freed == claim
    assert stored(client, freed)["status"] == {}


def test_what_was_made_is_remembered_until_it_is_deleted(
    client: StubClient, claims: Claims
) -> None:
    first, second, third = (claims.create(ONE) for _ in range(3))
    second = claims.allocate(second, results_of(ONE, driver=DRIVER), node="node-a")
    claims.delete(first)
    assert list(claims.living) == [second, third]
    claims.delete_all()
    assert list(claims.living) == []
    assert not [key for key in client.objects if key[0] == RESOURCE_CLAIMS.plural]


def test_a_claim_that_is_gone_already_is_forgotten(client: StubClient, claims: Claims) -> None:
    claim = claims.create(ONE)
    client.objects.clear()
    claims.delete(claim)
    assert list(claims.living) == []


@pytest.mark.parametrize("verb", ["create", "delete"])
def test_any_other_refusal_of_the_server_is_not_swallowed(
    verb: str, client: StubClient, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claims.create(ONE)

    def refuse(*_: object, **__: object) -> Json:
        raise KubeError("forbidden", code=403, reason="Forbidden")

    monkeypatch.setattr(client, verb, refuse)
    with pytest.raises(KubeError, match="forbidden"):
        claims.create(ONE, namespace="new") if verb == "create" else claims.delete(claim)
    assert claims.living == (claim,)


def test_results_follow_the_requests_in_their_order() -> None:
    wanted = [
        Wanted(request="b", devices=(OTHER, GPU)),
        Wanted(request="none", devices=()),
        Wanted(request="a", devices=(GPU,)),
    ]
    found = [(each["request"], each["device"]) for each in results_of(wanted, driver=DRIVER)]
    assert found == [("b", "gpu-1"), ("b", "gpu-0"), ("a", "gpu-0")]


def test_a_shared_device_is_given_with_a_share_of_its_own_and_its_whole_capacity() -> None:
    spec = {
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "16Gi"}, "cores": {"value": "128"}},
    }
    shared = Device(pool="p", name="d", spec=spec)
    first, second = (result("r", shared, driver=DRIVER) for _ in range(2))
    assert first["consumedCapacity"] == {"memory": "16Gi", "cores": "128"}
    assert uuid.UUID(first["shareID"]) != uuid.UUID(second["shareID"])
    assert "shareID" not in result("r", GPU, driver=DRIVER)


def test_pairs_are_those_of_one_driver_only() -> None:
    claim = _claim([result("own", GPU, driver=DRIVER), decoy("decoy")])
    assert claim.pairs(DRIVER) == {("node-a", "gpu-0")}
    assert claim.pairs(DECOY_DRIVER) == {("decoy-pool", "decoy-0")}
    assert claim.pairs("nobody.example.com") == set()


def test_a_claim_is_named_in_messages_and_calls_by_all_it_has() -> None:
    claim = _claim([])
    assert str(claim) == "claim ns/c (uid u)"
    assert (claim.ref.namespace, claim.ref.name, claim.ref.uid) == ("ns", "c", "u")


def _claim(results: Sequence[Json]) -> Claim:
    return Claim(namespace="ns", name="c", uid="u", requests=(), results=tuple(results))


def test_further_metadata_stands_beside_name_and_namespace(
    client: StubClient, claims: Claims
) -> None:
    claim = claims.create(ONE, name="c", metadata={"annotations": {"a": "b"}, "name": "other"})
    metadata = stored(client, claim)["metadata"]
    assert (metadata["name"], metadata["annotations"]) == ("c", {"a": "b"})


def test_a_claim_is_reserved_for_exactly_the_consumers_named(
    client: StubClient, claims: Claims
) -> None:
    claim = claims.allocate(claims.create(ONE), results_of(ONE, driver=DRIVER), node="node-a")
    allocation = stored(client, claim)["status"]["allocation"]
    claims.reserve(claim, [{"resource": "pods", "name": "p", "uid": "u"}])
    status = stored(client, claim)["status"]
    assert status["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "u"}]
    assert status["allocation"] == allocation


def test_an_unknown_claim_is_in_nobody_s_records(client: StubClient, claims: Claims) -> None:
    one, other = claims.unknown(), claims.unknown()
    assert one.uid != other.uid
    assert (client.objects, claims.living) == ({}, ())


def test_what_the_class_brings_comes_before_the_claims_own_configuration(
    client: StubClient,
) -> None:
    of_class = entries(DRIVER, {"a": 1}, source=FROM_CLASS)
    claims = Claims(
        client, namespace="ns", class_name="any.example.com", class_config=lambda: of_class
    )
    own = entries(DRIVER, {"a": 2}, requests=["req-0"])
    for bare, expected in ((False, [*of_class, *own]), (True, own)):
        claim = claims.create(ONE, config=[*of_class, *own])
        assert stored(client, claim)["spec"]["devices"]["config"] == [
            {name: value for name, value in own[0].items() if name != "source"}
        ]
        claims.allocate(claim, [], node="node-a", config=own, bare=bare)
        devices = stored(client, claim)["status"]["allocation"]["devices"]
        assert devices["config"] == expected


@pytest.mark.parametrize(("conflicts", "written"), [(1, True), (9, True), (10, False)])
def test_a_status_is_written_again_where_somebody_has_written_in_between(
    client: StubClient,
    claims: Claims,
    monkeypatch: pytest.MonkeyPatch,
    conflicts: int,
    *,
    written: bool,
) -> None:
    claim = claims.create(ONE)
    left = [KubeError("changed", code=409, reason="Conflict") for _ in range(conflicts)]
    replace = client.replace

    def busy(*arguments: Any, **more: Any) -> Json:
        if left:
            raise left.pop()
        return replace(*arguments, **more)

    monkeypatch.setattr(client, "replace", busy)
    if written:
        claims.write_status(claim, lambda status: {"devices": []})
        assert stored(client, claim)["status"] == {"devices": []}
    else:
        with pytest.raises(KubeError, match="changed"):
            claims.write_status(claim, lambda status: {"devices": []})

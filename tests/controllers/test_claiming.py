"""Claims of pods on the embedded API server: made, reserved, given back, taken away."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dra.api.resources import EVENTS
from pytest_dra.api.resources import PODS
from pytest_dra.api.resources import RESOURCE_CLAIM_TEMPLATES
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.controllers.allocations import FINALIZER
from pytest_dra.controllers.claiming import ClaimController
from pytest_dra.controllers.looping import Background
from pytest_dra.kube import Client
from pytest_dra.spec import Json
from tests.controllers.sample import Running
from tests.controllers.sample import add_claim
from tests.controllers.sample import add_pod
from tests.controllers.sample import eventually
from tests.controllers.sample import node_of
from tests.objects.sample import claim as claim_body


@pytest.fixture
def controller(client: Client) -> Iterator[Background]:
    with Background([ClaimController(client)]) as background:
        yield background
        assert background.failures == []


def add_template(client: Client, **metadata: Any) -> None:
    body = claim_body(kind="ResourceClaimTemplate")
    body["metadata"] = {"name": "gpu"}
    body["spec"]["metadata"] = metadata
    client.create(RESOURCE_CLAIM_TEMPLATES, body, namespace="default")


def add_templated(client: Client, name: str, **spec: Any) -> Json:
    entries = [{"name": "devices", "resourceClaimTemplateName": "gpu"}]
    used = {"claims": [{"name": "devices"}]}
    container = {"name": "main", "image": "example.com/main", "resources": used}
    return add_pod(client, name, [], resourceClaims=entries, containers=[container], **spec)


def claims(client: Client) -> list[Json]:
    return client.list(RESOURCE_CLAIMS, namespace="default")


def read(client: Client, name: str) -> Json:
    return client.get(RESOURCE_CLAIMS, name, namespace="default")


def statuses(client: Client, name: str) -> Any:
    status = client.get(PODS, name, namespace="default")["status"]
    return status.get("resourceClaimStatuses")


def show(client: Client, name: str, phase: str) -> None:
    body = {"status": {"phase": phase}}
    client.patch(PODS, name, body, namespace="default", subresource="status")


def test_a_claim_is_made_of_a_template_and_belongs_to_its_pod(
    client: Client, controller: Background
) -> None:
    add_template(client, labels={"a": "b"}, annotations={"c": "d"})
    pod = add_templated(client, "main")
    (status,) = eventually(lambda: statuses(client, "main"))
    (claim,) = claims(client)
    meta = claim["metadata"]
    assert status == {"name": "devices", "resourceClaimName": meta["name"]}
    assert meta["name"].startswith("main-devices-")
    assert meta["labels"] == {"a": "b"}
    annotations = {"c": "d", "resource.kubernetes.io/pod-claim-name": "devices"}
    assert meta["annotations"] == annotations
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "main", "uid": pod["metadata"]["uid"]}
    assert meta["ownerReferences"] == [{**owner, "controller": True}]
    (request,) = claim["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == "gpu"


def test_a_claim_that_was_made_before_is_found_again(client: Client) -> None:
    add_template(client)
    add_templated(client, "main")
    with Background([ClaimController(client)]):
        eventually(lambda: statuses(client, "main"))
    body = {"status": {"resourceClaimStatuses": None}}
    client.patch(PODS, "main", body, namespace="default", subresource="status")
    with Background([ClaimController(client)]):
        eventually(lambda: statuses(client, "main"))
    assert len(claims(client)) == 1


def test_a_claim_that_somebody_has_deleted_is_made_anew(
    client: Client, controller: Background
) -> None:
    add_template(client)
    add_templated(client, "main")
    (first,) = eventually(lambda: statuses(client, "main"))
    client.delete(RESOURCE_CLAIMS, first["resourceClaimName"], namespace="default")
    eventually(lambda: statuses(client, "main") not in (None, [first]))
    (claim,) = claims(client)
    assert statuses(client, "main")[0]["resourceClaimName"] == claim["metadata"]["name"]


def test_a_missing_template_is_told_once_and_waited_for(
    client: Client, controller: Background
) -> None:
    add_templated(client, "main")
    (event,) = eventually(lambda: client.list(EVENTS, namespace="default"))
    assert event["reason"] == "FailedResourceClaimCreation"
    assert event["message"] == (
        'PodResourceClaim devices: resource claim template "gpu": not found'
    )
    add_template(client)
    eventually(lambda: statuses(client, "main"))
    assert len(client.list(EVENTS, namespace="default")) == 1


def test_the_whole_way_of_a_generated_claim(client: Client, controller: Background) -> None:
    add_template(client)
    with Running(client):
        add_templated(client, "main")
        eventually(lambda: node_of(client, "main"))
        (claim,) = claims(client)
        assert claim["status"]["reservedFor"]
        assert claim["metadata"]["finalizers"] == [FINALIZER]
        show(client, "main", "Succeeded")
        eventually(lambda: not claims(client))
        assert client.get(PODS, "main", namespace="default"), "the pod is still there"


def test_a_claim_of_ones_own_is_deallocated_when_its_last_pod_is_gone(
    client: Client, controller: Background
) -> None:
    add_claim(client, "mine")
    with Running(client):
        for name in ("first", "second"):
            add_pod(client, name, ["mine"])
            eventually(functools.partial(node_of, client, name))
        assert len(read(client, "mine")["status"]["reservedFor"]) == 2
        client.delete(PODS, "first", namespace="default")
        eventually(lambda: len(read(client, "mine")["status"]["reservedFor"]) == 1)
        assert read(client, "mine")["status"]["allocation"]
        client.delete(PODS, "second", namespace="default")
        eventually(lambda: "finalizers" not in read(client, "mine")["metadata"])
    assert not read(client, "mine").get("status")


def test_a_deleted_claim_goes_when_nobody_uses_it_any_more(
    client: Client, controller: Background
) -> None:
    add_claim(client, "mine")
    with Running(client):
        add_pod(client, "main", ["mine"])
        eventually(lambda: node_of(client, "main"))
        client.delete(RESOURCE_CLAIMS, "mine", namespace="default")
        assert read(client, "mine")["metadata"]["deletionTimestamp"]
        client.delete(PODS, "main", namespace="default")
        eventually(lambda: not claims(client))


def allocate(client: Client, name: str, consumers: list[Json]) -> None:
    """By hand, with the finalizer."""
    body: Json = {"metadata": {"finalizers": [FINALIZER]}}
    client.patch(RESOURCE_CLAIMS, name, body, namespace="default")
    result = {"request": "one", "driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}
    allocation = {"devices": {"results": [result]}}
    body = {"status": {"allocation": allocation, "reservedFor": consumers}}
    client.patch(RESOURCE_CLAIMS, name, body, namespace="default", subresource="status")


def test_a_pod_that_was_put_on_its_node_by_hand_gets_its_claim_reserved(
    client: Client, controller: Background
) -> None:
    add_claim(client, "mine")
    allocate(client, "mine", [])
    pod = add_pod(client, "main", ["mine"], nodeName="node-a")
    (consumer,) = eventually(lambda: read(client, "mine")["status"].get("reservedFor"))
    uid = pod["metadata"]["uid"]
    assert consumer == {"resource": "pods", "name": "main", "uid": uid}


def test_an_allocated_claim_that_nobody_has_used_yet_stays_allocated(
    client: Client, controller: Background
) -> None:
    add_claim(client, "unused")
    allocate(client, "unused", [])
    add_claim(client, "stale")
    allocate(client, "stale", [{"resource": "pods", "name": "gone", "uid": "u-gone"}])
    eventually(lambda: not read(client, "stale").get("status"))
    assert read(client, "unused")["status"]["allocation"]


def test_reservations_for_others_than_pods_are_left_alone(
    client: Client, controller: Background
) -> None:
    add_claim(client, "mine")
    other = {"apiGroup": "example.com", "resource": "jobs", "name": "j", "uid": "u-j"}
    gone = {"resource": "pods", "name": "gone", "uid": "u-gone"}
    allocate(client, "mine", [other, gone])
    eventually(lambda: read(client, "mine")["status"]["reservedFor"] == [other])
    assert read(client, "mine")["status"]["allocation"]


def test_it_acts_only_where_it_is_asked_to(client: Client) -> None:
    add_claim(client, "mine")
    gone = [{"resource": "pods", "name": "gone", "uid": "u-gone"}]
    allocate(client, "mine", gone)
    controller = ClaimController(client, within=lambda name: name == "other")
    with Background([controller]):
        client.create(PODS, _plain("marker"), namespace="default")
        eventually(lambda: controller.synced)
    assert read(client, "mine")["status"]["reservedFor"] == gone


def _plain(name: str) -> Json:
    container = {"name": "main", "image": "example.com/main"}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}

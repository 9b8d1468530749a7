"""The scheduler loop on the embedded API server: from a pending pod to a bound one."""

from __future__ import annotations

import functools
from collections.abc import Callable

from pytest_dra.api.resources import DEVICE_CLASSES
from pytest_dra.api.resources import EVENTS
from pytest_dra.api.resources import LEASES
from pytest_dra.api.resources import PODS
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.controllers.allocations import FINALIZER
from pytest_dra.controllers.leading import Leader
from pytest_dra.kube import Client
from tests.controllers.sample import Running
from tests.controllers.sample import add_claim
from tests.controllers.sample import add_pod
from tests.controllers.sample import allocation
from tests.controllers.sample import eventually
from tests.controllers.sample import node_of
from tests.controllers.sample import unschedulable
from tests.objects.sample import device
from tests.objects.sample import resource_slice


def test_a_pod_gets_its_devices_and_then_its_node(client: Client) -> None:
    add_claim(client, "one")
    pod = add_pod(client, "main", ["one"])
    with Running(client):
        node = eventually(lambda: node_of(client, "main"))
    made = client.get(RESOURCE_CLAIMS, "one", namespace="default")
    (result,) = made["status"]["allocation"]["devices"]["results"]
    assert (node, result["pool"], result["device"]) == ("node-a", "node-a", "gpu-0")
    assert made["status"]["reservedFor"] == [
        {"resource": "pods", "name": "main", "uid": pod["metadata"]["uid"]}
    ]
    assert made["metadata"]["finalizers"] == [FINALIZER]
    events = client.list(EVENTS, namespace="default")
    assert [one["reason"] for one in events] == ["Scheduled"]


def test_pods_of_other_schedulers_are_left_alone(client: Client) -> None:
    add_claim(client, "one")
    add_claim(client, "two")
    add_pod(client, "theirs", ["one"], scheduler="default-scheduler")
    add_pod(client, "ours", ["two"])
    with Running(client):
        assert eventually(lambda: node_of(client, "ours")) == "node-a"
    assert not node_of(client, "theirs")
    assert not client.get(RESOURCE_CLAIMS, "one", namespace="default").get("status")


def test_nobody_gets_a_device_twice_and_there_is_no_preemption(client: Client) -> None:
    with Running(client):
        for name in ("one", "two"):
            add_claim(client, name)
            add_pod(client, f"pod-{name}", [name], priority=0)
        nodes = {
            eventually(functools.partial(node_of, client, one)) for one in ("pod-one", "pod-two")
        }
        assert nodes == {"node-a", "node-b"}
        add_claim(client, "urgent")
        add_pod(client, "urgent", ["urgent"])
        assert "cannot allocate all claims" in eventually(lambda: unschedulable(client, "urgent"))
        # Whoever holds the devices stays; once the holder has ended the pod gets them.
        assert {node_of(client, "pod-one"), node_of(client, "pod-two")} == nodes
        client.delete(PODS, "pod-one", namespace="default")
        status = {"allocation": None, "reservedFor": None}
        client.patch(
            RESOURCE_CLAIMS, "one", {"status": status}, namespace="default", subresource="status"
        )
        assert eventually(lambda: node_of(client, "urgent"))


def test_two_pods_share_a_claim_and_its_node(client: Client) -> None:
    add_claim(client, "one")
    add_pod(client, "first", ["one"])
    add_pod(client, "second", ["one"])
    with Running(client):
        nodes = [eventually(functools.partial(node_of, client, one)) for one in ("first", "second")]
    assert nodes == ["node-a", "node-a"]
    made = client.get(RESOURCE_CLAIMS, "one", namespace="default")
    assert len(made["status"]["reservedFor"]) == 2


def test_a_missing_claim_is_waited_for(client: Client) -> None:
    add_pod(client, "main", ["one"])
    with Running(client):
        assert "claim default/one does not exist" in eventually(
            lambda: unschedulable(client, "main")
        )
        add_claim(client, "one")
        assert eventually(lambda: node_of(client, "main")) == "node-a"


def test_a_device_with_binding_conditions_is_waited_for_before_the_pod_is_bound(
    client: Client,
) -> None:
    for name in ("node-a-gpu", "node-b-gpu"):
        client.delete(RESOURCE_SLICES, name)
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    made = resource_slice("shared", devices=[device("gpu-0", bindsToNode=True, **conditions)])
    del made["spec"]["nodeName"], made["metadata"]["ownerReferences"]
    made["spec"]["allNodes"] = True
    client.create(RESOURCE_SLICES, made)
    add_claim(client, "one")
    add_pod(client, "main", ["one"])
    with Running(client):
        allocated = eventually(lambda: allocation(client, "one"))
        assert allocated["allocationTimestamp"]
        assert not node_of(client, "main")
        (result,) = allocated["devices"]["results"]
        ready = {
            "type": "ready", "status": "True", "reason": "Done", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        device_status = {key: result[key] for key in ("driver", "pool", "device")}
        status = {"devices": [{**device_status, "conditions": [ready]}]}
        client.patch(
            RESOURCE_CLAIMS, "one", {"status": status}, namespace="default", subresource="status"
        )
        assert eventually(lambda: node_of(client, "main")) == "node-a"


def test_a_device_that_cannot_be_bound_is_given_back(client: Client) -> None:
    for name in ("node-a-gpu", "node-b-gpu"):
        client.delete(RESOURCE_SLICES, name)
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    made = resource_slice("shared", devices=[device("gpu-0", bindsToNode=True, **conditions)])
    del made["spec"]["nodeName"], made["metadata"]["ownerReferences"]
    made["spec"]["allNodes"] = True
    client.create(RESOURCE_SLICES, made)
    add_claim(client, "one")
    add_pod(client, "main", ["one"])
    with Running(client):
        (result,) = eventually(lambda: allocation(client, "one"))["devices"]["results"]
        client.delete(RESOURCE_SLICES, "shared")
        condition = {
            "type": "broken", "status": "True", "reason": "Broken", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        status = {key: result[key] for key in ("driver", "pool", "device")}
        body = {"status": {"devices": [{**status, "conditions": [condition]}]}}
        client.patch(RESOURCE_CLAIMS, "one", body, namespace="default", subresource="status")
        eventually(lambda: not allocation(client, "one"))
        eventually(lambda: "cannot allocate" in unschedulable(client, "main"))


def test_an_extended_resource_of_a_class_gets_a_claim_of_the_schedulers_own(
    client: Client,
) -> None:
    client.patch(DEVICE_CLASSES, "gpu", {"spec": {"extendedResourceName": "example.com/gpu"}})
    limits = {"limits": {"example.com/gpu": "1"}}
    container = {"name": "main", "image": "example.com/main", "resources": limits}
    pod = add_pod(client, "main", [], containers=[container], resourceClaims=None)
    with Running(client):
        assert eventually(lambda: node_of(client, "main")) == "node-a"
    status = client.get(PODS, "main", namespace="default")["status"]
    noted = status["extendedResourceClaimStatus"]
    assert noted["requestMappings"] == [
        {
            "containerName": "main",
            "resourceName": "example.com/gpu",
            "requestName": "container-0-request-0",
        }
    ]
    made = client.get(RESOURCE_CLAIMS, noted["resourceClaimName"], namespace="default")
    assert made["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert made["status"]["reservedFor"][0]["name"] == "main"


def test_a_pod_without_claims_is_scheduled_too(client: Client) -> None:
    add_pod(client, "main", [])
    with Running(client):
        assert eventually(lambda: node_of(client, "main")) == "node-a"


def leader(client: Client, identity: str, clock: Callable[[], float]) -> Leader:
    return Leader(client, namespace="kube-system", name="lease", identity=identity, clock=clock)


def test_only_one_leads_and_another_takes_over_when_it_is_not_heard_of(client: Client) -> None:
    now = [0.0]
    first, second = (leader(client, one, lambda: now[0]) for one in ("first", "second"))
    assert first.hold()
    assert not second.hold()
    now[0] = 10.0
    assert first.hold()
    assert not second.hold()
    now[0] = 20.0
    assert not second.hold()
    now[0] = 40.0
    assert second.hold()
    assert not first.hold()
    spec = client.get(LEASES, "lease", namespace="kube-system")["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("second", 1)


def test_a_leader_that_ends_gives_its_place_to_the_next_one_at_once(client: Client) -> None:
    now = [0.0]
    first, second = (leader(client, one, lambda: now[0]) for one in ("first", "second"))
    add_claim(client, "one")
    add_pod(client, "main", ["one"])
    with Running(client, first):
        assert eventually(lambda: node_of(client, "main"))
        assert not second.hold()
    now[0] = 5.0
    assert second.hold()

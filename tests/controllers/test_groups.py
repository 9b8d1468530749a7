"""Claims of groups of pods: made once for the group, reserved for it, kept while it is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dra.allocator import rules
from pytest_dra.api.resources import POD_GROUPS
from pytest_dra.api.resources import PODS
from pytest_dra.api.resources import RESOURCE_CLAIM_TEMPLATES
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.resources import Resource
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.controllers.claiming import ClaimController
from pytest_dra.controllers.looping import Background
from pytest_dra.controllers.scheduling import SchedulerLoop
from pytest_dra.kube import Client
from pytest_dra.spec import Json
from tests.controllers.sample import add_pod
from tests.controllers.sample import eventually
from tests.controllers.sample import fill
from tests.controllers.sample import node_of
from tests.objects.sample import claim as claim_body

ENTRY = {"name": "devices", "resourceClaimTemplateName": "gpu"}
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False
)


@pytest.fixture
def client(cluster: EmbeddedCluster) -> Iterator[Client]:
    admin = cluster.admin()
    fill(admin)
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": POD_GROUPS.version, "served": True, "storage": True,
        "schema": {"openAPIV3Schema": anything}, "subresources": {"status": {}},
    }  # fmt: skip
    spec = {
        "group": POD_GROUPS.group, "scope": "Namespaced", "versions": [version],
        "names": {"plural": POD_GROUPS.plural, "kind": POD_GROUPS.kind, "singular": "podgroup"},
    }  # fmt: skip
    approved = {"api-approved.kubernetes.io": "unapproved, stands in for the built-in kind"}
    meta = {"name": POD_GROUPS.qualified, "annotations": approved}
    admin.create(DEFINITIONS, {"metadata": meta, "spec": spec})
    body = claim_body(kind="ResourceClaimTemplate")
    body["metadata"] = {"name": "gpu"}
    admin.create(RESOURCE_CLAIM_TEMPLATES, body, namespace="default")
    yield admin
    admin.close()


@pytest.fixture
def scheduled(client: Client, cluster: EmbeddedCluster) -> Iterator[None]:
    current = rules("1.37", {"DRAWorkloadResourceClaims": True})
    others = [cluster.admin(), cluster.admin()]
    loop = SchedulerLoop(others[0], current, backoff_s=0.05)
    thread = threading.Thread(target=loop.run, daemon=True)
    with Background([ClaimController(others[1], groups=True)]) as background:
        thread.start()
        yield
        loop.stop()
        thread.join(10)
        assert background.failures == []
    for one in others:
        one.close()


def add_group(client: Client, name: str, *entries: Json) -> Json:
    spec = {"schedulingPolicy": {"basic": {}}, "resourceClaims": list(entries)}
    body = {"metadata": {"name": name}, "spec": spec}
    return client.create(POD_GROUPS, body, namespace="default")


def add_member(client: Client, name: str, group: str, entry: Json, **spec: Any) -> Json:
    used = {"claims": [{"name": entry["name"]}]}
    container = {"name": "main", "image": "example.com/main", "resources": used}
    return add_pod(
        client, name, [], resourceClaims=[entry], containers=[container],
        schedulingGroup={"podGroupName": group}, **spec,
    )  # fmt: skip


def claims(client: Client) -> list[Json]:
    return client.list(RESOURCE_CLAIMS, namespace="default")


@pytest.mark.usefixtures("scheduled")
def test_the_pods_of_a_group_share_the_claim_that_is_made_for_it(client: Client) -> None:
    group = add_group(client, "team", ENTRY)
    for name in ("one", "two"):
        add_member(client, name, "team", ENTRY)
    eventually(lambda: node_of(client, "one") and node_of(client, "two"))
    assert node_of(client, "one") == node_of(client, "two")
    (made,) = claims(client)
    uid = group["metadata"]["uid"]
    assert made["metadata"]["name"].startswith("team-devices-")
    assert made["metadata"]["ownerReferences"][0]["uid"] == uid
    consumer = {
        "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "team", "uid": uid
    }  # fmt: skip
    assert made["status"]["reservedFor"] == [consumer]
    status = client.get(POD_GROUPS, "team", namespace="default")["status"]
    named = {"name": "devices", "resourceClaimName": made["metadata"]["name"]}
    assert status["resourceClaimStatuses"] == [named]


@pytest.mark.usefixtures("scheduled")
def test_a_group_keeps_its_claim_until_it_is_gone(client: Client) -> None:
    add_group(client, "team", ENTRY)
    add_member(client, "one", "team", ENTRY)
    eventually(lambda: node_of(client, "one"))
    client.delete(PODS, "one", namespace="default")
    add_member(client, "two", "team", ENTRY)
    eventually(lambda: node_of(client, "two"))
    (made,) = claims(client)
    assert made["status"]["reservedFor"][0]["resource"] == "podgroups"
    client.delete(POD_GROUPS, "team", namespace="default")
    eventually(lambda: not any(one["status"].get("allocation") for one in claims(client)))


@pytest.mark.usefixtures("scheduled")
def test_an_entry_that_differs_from_that_of_the_group_is_the_pods_own(client: Client) -> None:
    add_group(client, "team", {"name": "other", "resourceClaimTemplateName": "gpu"})
    add_member(client, "one", "team", ENTRY)
    eventually(lambda: node_of(client, "one"))
    mine = [one for one in claims(client) if one["metadata"]["name"].startswith("one-")]
    assert [one["status"]["reservedFor"][0]["resource"] for one in mine] == ["pods"]

"""Create, update, delete: names, versions, conflicts, status, finalizers, return types."""

from __future__ import annotations

import re

import pytest

from tests.embedded.client import CLAIMS
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import allocation
from tests.embedded.client import claim
from tests.embedded.client import slice_


def test_a_generated_name_keeps_its_base_and_the_prefix_field(client: Client) -> None:
    body = slice_()
    body["metadata"] = {"generateName": "00000-gpu.example.com-node-a-"}
    meta = client.post(SLICES, body).json["metadata"]
    assert re.fullmatch(r"00000-gpu\.example\.com-node-a-[b-z2-9]{5}", meta["name"])
    assert meta["generateName"] == "00000-gpu.example.com-node-a-"
    body["metadata"] = {"generateName": "a" * 70}
    assert len(client.post(SLICES, body).json["metadata"]["name"]) == 63


def test_versions_are_growing_integers_and_a_no_op_keeps_them(client: Client) -> None:
    first = client.post(SLICES, slice_()).json["metadata"]
    same = client.put(f"{SLICES}/s", slice_()).json["metadata"]
    assert same == first
    changed = client.put(f"{SLICES}/s", slice_(devices=[{"name": "d"}])).json["metadata"]
    assert int(changed["resourceVersion"]) > int(first["resourceVersion"])
    assert (first["generation"], changed["generation"]) == (1, 2)


def test_the_two_conflicts_have_different_reasons(client: Client) -> None:
    made = client.post(SLICES, slice_()).json
    again = client.post(SLICES, slice_())
    assert (again.code, again.json["reason"]) == (409, "AlreadyExists")
    client.put(f"{SLICES}/s", slice_(devices=[{"name": "d"}]))
    stale = client.put(f"{SLICES}/s", made)
    assert (stale.code, stale.json["reason"]) == (409, "Conflict")
    assert "the object has been modified" in stale.json["message"]
    foreign = slice_()
    foreign["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111"
    assert client.put(f"{SLICES}/s", foreign).code == 409
    assert client.put(f"{SLICES}/other", slice_()).code == 400
    assert client.put(f"{SLICES}/other", slice_("other")).code == 404


def test_a_lease_needs_its_version_and_may_be_created_by_put(client: Client) -> None:
    base = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    body = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    assert client.put(base, body).code == 201
    assert client.put(base, body).causes == {("metadata.resourceVersion", "Invalid")}


def test_creating_a_claim_wipes_its_status_and_defaults_its_spec(client: Client) -> None:
    made = client.post(CLAIMS, claim(status={"allocation": allocation()})).json
    assert made["status"] == {}
    exactly = made["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)
    assert "generation" not in made["metadata"]


def test_status_writes_keep_spec_and_metadata_and_others_keep_status(client: Client) -> None:
    client.post(CLAIMS, claim())
    body = claim(status={"allocation": allocation()})
    body["metadata"]["labels"] = {"a": "b"}
    body["spec"] = {"devices": {}}
    status = client.put(f"{CLAIMS}/c/status", body).json
    assert "labels" not in status["metadata"]
    assert status["spec"]["devices"]["requests"][0]["name"] == "r0"
    assert status["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    main = claim(status={})
    main["metadata"]["labels"] = {"a": "b"}
    assert "allocation" in client.put(f"{CLAIMS}/c", main).json["status"]
    assert client.post(f"{CLAIMS}/c/status", body).code == 405


def test_deallocation_drops_the_status_of_the_device(client: Client) -> None:
    client.post(CLAIMS, claim())
    device = {"driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}
    body = claim(status={"allocation": allocation(), "devices": [device]})
    assert client.put(f"{CLAIMS}/c/status", body).code == 200
    freed = client.patch(f"{CLAIMS}/c/status", {"status": {"allocation": None}})
    assert freed.json["status"] == {}


def test_finalizers_hold_an_object_until_they_are_gone(client: Client) -> None:
    body = claim()
    body["metadata"]["finalizers"] = ["example.com/hold"]
    client.post(CLAIMS, body)
    marked = client.delete(f"{CLAIMS}/c").json
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert "deletionTimestamp" in marked["metadata"]
    assert client.delete(f"{CLAIMS}/c").json == marked
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    assert client.patch(f"{CLAIMS}/c", more).causes == {("metadata.finalizers", "Forbidden")}
    freed = client.patch(f"{CLAIMS}/c", {"metadata": {"finalizers": None}})
    assert freed.json["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]
    assert client.get(f"{CLAIMS}/c").code == 404


def test_preconditions_are_checked(client: Client) -> None:
    made = client.post(SLICES, slice_()).json["metadata"]
    wrong = {"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}}
    refused = client.delete(f"{SLICES}/s", wrong)
    assert (refused.code, refused.json["details"]["kind"]) == (409, "ResourceSlice")
    stale = {"preconditions": {"uid": made["uid"], "resourceVersion": "1"}}
    assert client.delete(f"{SLICES}/s", stale).code == 409
    right = {"preconditions": {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}}
    gone = client.delete(f"{SLICES}/s", right)
    assert gone.code == 200
    assert int(gone.json["metadata"]["resourceVersion"]) > int(made["resourceVersion"])


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (SLICES, "ResourceSlice"),
        ("/apis/resource.k8s.io/v1/deviceclasses", "DeviceClass"),
        (CLAIMS, "ResourceClaim"),
        ("/api/v1/namespaces/default/serviceaccounts", "ServiceAccount"),
        ("/api/v1/nodes", "Status"),
        ("/api/v1/namespaces/default/configmaps", "Status"),
        ("/api/v1/namespaces/default/secrets", "Status"),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "Status"),
    ],
)
def test_delete_answers_object_or_status_by_kind(client: Client, path: str, kind: str) -> None:
    body = slice_("x") if path == SLICES else {"metadata": {"name": "x"}}
    assert client.post(path, body).code == 201
    assert client.delete(f"{path}/x").json["kind"] == kind


def test_deletecollection_takes_what_is_selected_and_lists_it(client: Client) -> None:
    client.post(SLICES, slice_("a"))
    client.post(SLICES, slice_("b", nodeName="node-b"))
    gone = client.delete(SLICES, fieldSelector="spec.nodeName=node-a").json
    assert gone["kind"] == "ResourceSliceList"
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a"]
    assert [item["metadata"]["name"] for item in client.get(SLICES).json["items"]] == ["b"]
    assert client.delete("/apis/resource.k8s.io/v1/resourceclaims").code == 405


def test_a_body_of_delete_hides_the_query(client: Client) -> None:
    client.post(SLICES, slice_())
    assert client.delete(f"{SLICES}/s", dryRun="All").code == 200
    assert client.get(f"{SLICES}/s").code == 200
    client.delete(f"{SLICES}/s", {}, dryRun="All")
    assert client.get(f"{SLICES}/s").code == 404


def test_dry_runs_store_nothing(client: Client) -> None:
    answer = client.post(SLICES, slice_(), dryRun="All")
    assert answer.code == 201
    assert "resourceVersion" not in answer.json["metadata"]
    assert client.get(f"{SLICES}/s").code == 404
    assert client.post(SLICES, slice_(), dryRun="Some").causes == {("dryRun", "NotSupported")}


def test_a_namespace_must_exist_and_takes_its_contents_along(client: Client) -> None:
    base = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims"
    missing = client.post(base, claim())
    assert (missing.code, missing.json["details"]["kind"]) == (404, "namespaces")
    made = client.post("/api/v1/namespaces", {"metadata": {"name": "team"}}).json
    assert made["status"] == {"phase": "Active"}
    held = claim("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    assert client.post(base, held).code == 201
    assert client.post(base, claim()).code == 201
    assert client.delete("/api/v1/namespaces/team").json["status"]["phase"] == "Terminating"
    refused = client.post(base, claim("late"))
    assert refused.causes == {("metadata.namespace", "NamespaceTerminating")}
    assert client.get(f"{base}/c").code == 404
    client.patch(f"{base}/held", {"metadata": {"finalizers": None}})
    assert client.get("/api/v1/namespaces/team").code == 404
    assert client.delete("/api/v1/namespaces/default").code == 403


def test_a_pod_is_bound_once(client: Client) -> None:
    base = "/api/v1/namespaces/default/pods"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert client.post(base, pod).json["status"]["phase"] == "Pending"
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "node-a"}}
    assert client.post(f"{base}/p/binding", binding).code == 201
    assert client.get(f"{base}/p").json["spec"]["nodeName"] == "node-a"
    assert client.post(f"{base}/p/binding", binding).code == 409
    held = client.delete(f"{base}/p").json["metadata"]
    assert held["deletionGracePeriodSeconds"] == 30
    assert client.delete(f"{base}/p", gracePeriodSeconds="0").code == 200
    assert client.get(f"{base}/p").code == 404


def test_both_event_apis_share_one_store(client: Client) -> None:
    event = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "note": "n",
        "reason": "R",
        "type": "Normal",
        "action": "A",
        "reportingController": "gpu.example.com",
        "reportingInstance": "i",
        "eventTime": "2026-01-01T00:00:00.123456Z",
    }
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert client.post(path, event).json["note"] == "n"
    shown = client.get("/api/v1/namespaces/default/events/e").json
    assert (shown["message"], shown["involvedObject"]["name"]) == ("n", "p")
    found = client.get("/api/v1/namespaces/default/events", fieldSelector="involvedObject.name=p")
    assert len(found.json["items"]) == 1
    event["metadata"] = {"name": "f"}
    del event["action"]
    assert client.post(path, event).causes == {("action", "Required")}


def test_a_new_node_is_tainted_and_keeps_its_status(client: Client) -> None:
    body = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}
    node = client.post("/api/v1/nodes", body).json
    assert node["spec"]["taints"][0]["key"] == "node.kubernetes.io/not-ready"
    assert node["status"]["allocatable"] == {"cpu": "4"}


def test_a_deleted_node_takes_its_slices_along(client: Client) -> None:
    node = client.post("/api/v1/nodes", {"metadata": {"name": "node-a"}}).json["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": node["uid"]}
    other = {**owner, "uid": "22222222-2222-4222-8222-222222222222"}
    for name, owners in {"a": [owner], "b": [owner, other], "c": [other], "d": []}.items():
        body = slice_(name)
        body["metadata"]["ownerReferences"] = owners
        assert client.post(SLICES, body).code == 201
    client.delete("/api/v1/nodes/node-a")
    left = [item["metadata"]["name"] for item in client.get(SLICES).json["items"]]
    assert left == ["c", "d"]


def test_too_large_bodies_are_413(client: Client) -> None:
    body = slice_()
    body["spec"]["x"] = "x" * (3 * 1024 * 1024)
    answer = client.post(SLICES, body)
    assert (answer.code, answer.json["reason"]) == (413, "RequestEntityTooLarge")

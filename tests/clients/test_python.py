"""The Python client: its models check every answer, on the embedded server and on a real one."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from kubernetes import dynamic
from kubernetes import watch
from kubernetes.client.exceptions import ApiException

from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.spec import Json
from tests.clients.conftest import kube
from tests.clients.conftest import python_client

Watch: Any = watch.Watch
DynamicClient: Any = dynamic.DynamicClient

WITHIN_S = 20.0

DEVICES: Json = {
    "requests": [{"name": "one", "exactly": {"deviceClassName": "gpu.example.com"}}],
}
SLICE: Json = {
    "driver": "gpu.example.com",
    "nodeName": "node-a",
    "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
    "devices": [
        {
            "name": "gpu-0",
            "attributes": {"model": {"string": "x"}, "index": {"int": 0}, "on": {"bool": False}},
            "capacity": {"memory": {"value": "40Gi"}},
        }
    ],
}
RULE: Json = {
    "deviceSelector": {"driver": "gpu.example.com"},
    "taint": {"key": "example.com/broken", "effect": "NoSchedule"},
}

KINDS: Mapping[str, tuple[Json, bool]] = {
    "device_class": ({"selectors": [{"cel": {"expression": "true"}}]}, False),
    "resource_slice": (SLICE, False),
    "device_taint_rule": (RULE, False),
    "resource_claim": ({"devices": DEVICES}, True),
    "resource_claim_template": ({"spec": {"devices": DEVICES}}, True),
}
"""By the name of the methods: a spec, and whether the kind lives in namespaces."""


class Kind:
    """The methods of one kind."""

    def __init__(self, api: Any, name: str, namespace: str) -> None:
        self._resource = kube.ResourceV1Api(api)
        placed = KINDS[name][1]
        self._name = f"namespaced_{name}" if placed else name
        self._place = {"namespace": namespace} if placed else {}

    def __call__(self, verb: str, **arguments: Any) -> Any:
        return getattr(self._resource, f"{verb}_{self._name}")(**self._place, **arguments)

    def listing(self) -> Any:
        return getattr(self._resource, f"list_{self._name}")


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_made_read_changed_and_deleted(api: Any, namespace: str, name: str) -> None:
    call = Kind(api, name, namespace)
    labels = {"of": namespace}
    made = call(
        "create",
        body={"metadata": {"name": f"{namespace}-a", "labels": labels}, "spec": KINDS[name][0]},
    )
    assert made.metadata.uid
    assert call("read", name=made.metadata.name) == made
    found = call("list", label_selector=f"of={namespace}")
    assert [each.metadata.name for each in found.items] == [made.metadata.name]
    patched = call("patch", name=made.metadata.name, body={"metadata": {"annotations": {"a": "b"}}})
    assert patched.metadata.annotations == {"a": "b"}
    patched.metadata.labels = {**labels, "more": "yes"}
    replaced = call("replace", name=made.metadata.name, body=patched)
    assert replaced.metadata.labels["more"] == "yes"
    with pytest.raises(ApiException) as stale:
        call("replace", name=made.metadata.name, body=made)
    assert stale.value.status == 409
    call("delete", name=made.metadata.name)
    with pytest.raises(ApiException) as gone:
        call("read", name=made.metadata.name)
    assert gone.value.status == 404


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_listed_in_pages_and_deleted_together(
    api: Any, namespace: str, name: str
) -> None:
    call = Kind(api, name, namespace)
    selector = f"of={namespace}"
    for number in range(5):
        meta = {"name": f"{namespace}-{number}", "labels": {"of": namespace}}
        call("create", body={"metadata": meta, "spec": KINDS[name][0]})
    seen, page = [], call("list", label_selector=selector, limit=2)
    while True:
        seen += [each.metadata.name for each in page.items]
        going_on = page.metadata._continue if hasattr(page.metadata, "_continue") else None
        going_on = going_on or getattr(page.metadata, "var_continue", None)
        if not going_on:
            break
        page = call("list", label_selector=selector, limit=2, _continue=going_on)
    assert seen == [f"{namespace}-{number}" for number in range(5)]
    call("delete_collection", label_selector=selector)
    assert call("list", label_selector=selector).items == []


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_watched(api: Any, namespace: str, name: str) -> None:
    call = Kind(api, name, namespace)
    selector = f"of={namespace}"
    since = call("list", label_selector=selector).metadata.resource_version
    meta = {"name": f"{namespace}-w", "labels": {"of": namespace}}
    call("create", body={"metadata": meta, "spec": KINDS[name][0]})
    call("patch", name=meta["name"], body={"metadata": {"annotations": {"a": "b"}}})
    call("delete", name=meta["name"])
    # The client concludes the model of a claim from the name of the list, and is wrong.
    watcher = Watch("ResourceV1ResourceClaim" if name == "resource_claim" else None)
    seen = []
    for event in watcher.stream(
        call.listing(),
        *([namespace] if KINDS[name][1] else []),
        label_selector=selector,
        resource_version=since,
        timeout_seconds=10,
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watcher.stop()
    assert seen == [(kind, meta["name"]) for kind in ("ADDED", "MODIFIED", "DELETED")]


def test_the_status_of_a_claim_has_a_writer_of_its_own(api: Any, namespace: str) -> None:
    resource = kube.ResourceV1Api(api)
    body = {"metadata": {"name": "c"}, "spec": {"devices": DEVICES}}
    claim = resource.create_namespaced_resource_claim(namespace, body)
    result = {"request": "one", "driver": "gpu.example.com", "pool": "p", "device": "d"}
    status = {"status": {"allocation": {"devices": {"results": [result]}}}}
    claim = resource.patch_namespaced_resource_claim_status("c", namespace, status)
    assert claim.status.allocation.devices.results[0].device == "d"
    devices = [{"driver": "gpu.example.com", "pool": "p", "device": "d", "data": {"a": 1}}]
    claim = resource.patch_namespaced_resource_claim_status(
        "c", namespace, {"status": {"devices": devices}}
    )
    assert claim.status.devices[0].device == "d"
    replaced = resource.replace_namespaced_resource_claim_status("c", namespace, claim)
    assert replaced.status == claim.status
    read = resource.read_namespaced_resource_claim_status("c", namespace)
    assert read.status.allocation.devices.results[0].pool == "p"


def test_parameters_are_compared_as_the_bytes_that_were_sent(api: Any, namespace: str) -> None:
    """The client writes JSON with blanks, and a patch does not keep them: no patch is possible."""
    resource = kube.ResourceV1Api(api)
    opaque = {"opaque": {"driver": "gpu.example.com", "parameters": {"level": 3}}}
    body = {"metadata": {"name": "c"}, "spec": {"devices": {**DEVICES, "config": [opaque]}}}
    resource.create_namespaced_resource_claim(namespace, body)
    with pytest.raises(ApiException) as refused:
        resource.patch_namespaced_resource_claim("c", namespace, {"metadata": {"labels": {}}})
    assert refused.value.status == 422


def test_a_watch_goes_on_after_its_version_has_been_forgotten(
    embedded: EmbeddedCluster,
) -> None:
    with python_client(embedded) as api:
        core = kube.CoreV1Api(api)
        old = core.list_namespaced_config_map("default").metadata
        assert old
        with embedded.trouble().short_history(0):
            core.create_namespaced_config_map("default", {"metadata": {"name": "late"}})
            stream = Watch().stream(
                core.list_namespaced_config_map,
                "default",
                resource_version=old.resource_version,
                timeout_seconds=2,
            )
            with pytest.raises(ApiException) as late:
                list(stream)
            assert late.value.status == 410
            fresh = Watch().stream(core.list_namespaced_config_map, "default", timeout_seconds=1)
            names = [event["object"].metadata.name for event in fresh]
        assert names == ["late"]


def test_core_kinds_fit_their_models(api: Any, namespace: str) -> None:
    core = kube.CoreV1Api(api)
    meta = {"name": "x"}
    core.create_namespaced_service_account(namespace, {"metadata": {"name": "own"}})
    core.create_namespaced_config_map(namespace, {"metadata": meta, "data": {"a": "b"}})
    core.create_namespaced_secret(namespace, {"metadata": meta, "string_data": {"a": "b"}})
    core.create_node({"metadata": {"name": namespace}})
    container = {"name": "c", "image": "example.com/i:1", "resources": {"claims": [{"name": "g"}]}}
    spec = {
        "nodeName": namespace,
        "serviceAccountName": "own",
        "containers": [container],
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
    }
    pod = core.create_namespaced_pod(namespace, {"metadata": meta, "spec": spec})
    reference = {"kind": "Pod", "namespace": namespace, "name": "x", "uid": pod.metadata.uid}
    event = {"metadata": meta, "involvedObject": reference, "reason": "R", "type": "Normal"}
    core.create_namespaced_event(namespace, event)
    assert core.list_namespaced_event(namespace).items[0].reason == "R"
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    core.patch_node_status(namespace, status)
    assert core.read_node(namespace).status.conditions[0].type == "Ready"
    core.patch_namespaced_pod_status("x", namespace, {"status": {"phase": "Running"}})
    assert core.list_namespaced_pod(namespace).items[0].status.phase == "Running"
    core.delete_namespaced_pod("x", namespace, grace_period_seconds=0)
    core.delete_namespaced_config_map("x", namespace)
    core.delete_namespaced_secret("x", namespace)
    core.delete_node(namespace)
    core.delete_collection_namespaced_event(namespace)
    core.delete_namespaced_service_account("own", namespace)


def test_leases_keep_their_microseconds(api: Any, namespace: str) -> None:
    coordination = kube.CoordinationV1Api(api)
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)
    spec = kube.V1LeaseSpec(holder_identity="me", lease_duration_seconds=15, renew_time=moment)
    lease = kube.V1Lease(metadata=kube.V1ObjectMeta(name="l"), spec=spec)
    made = coordination.create_namespaced_lease(namespace, lease)
    assert made.spec
    assert made.spec.renew_time == moment
    coordination.delete_namespaced_lease("l", namespace)


def test_access_is_reviewed(api: Any, namespace: str) -> None:
    authorization = kube.AuthorizationV1Api(api)
    about = {"verb": "get", "resource": "secrets", "namespace": namespace}
    mine = authorization.create_self_subject_access_review({"spec": {"resourceAttributes": about}})
    assert mine.status.allowed is True
    spec = {"user": "nobody", "extra": {"a": ["b"]}, "resourceAttributes": about}
    other = authorization.create_subject_access_review({"spec": spec})
    assert other.status.allowed is False
    local = authorization.create_namespaced_local_subject_access_review(namespace, {"spec": spec})
    assert local.status.allowed is False
    rules = authorization.create_self_subject_rules_review({"spec": {"namespace": namespace}})
    assert rules.status.resource_rules
    me = kube.AuthenticationV1Api(api).create_self_subject_review({})
    assert me.status.user_info.username == "pytest-dra"


def test_the_dynamic_client_finds_kinds_and_their_verbs(api: Any, namespace: str) -> None:
    client = DynamicClient(api)
    claims = client.resources.get(api_version="resource.k8s.io/v1", kind="ResourceClaim")
    assert claims.namespaced
    assert {"create", "patch", "watch", "deletecollection"} <= set(claims.verbs)
    body = {"metadata": {"name": "d"}, "spec": {"devices": DEVICES}}
    made = claims.create(body=body, namespace=namespace)
    assert made.spec.devices.requests[0].exactly.count == 1
    applied = claims.server_side_apply(
        body={
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "d", "labels": {"a": "b"}},
        },
        namespace=namespace,
        field_manager="python",
    )
    assert applied.metadata.labels.a == "b"
    result = {"request": "one", "driver": "gpu.example.com", "pool": "p", "device": "d"}
    claims.status.patch(
        body={
            "metadata": {"name": "d"},
            "status": {"allocation": {"devices": {"results": [result]}}},
        },
        namespace=namespace,
        content_type="application/merge-patch+json",
    )
    assert claims.get(name="d", namespace=namespace).status.allocation is not None
    reviews = client.resources.get(
        api_version="authorization.k8s.io/v1", kind="SelfSubjectAccessReview"
    )
    assert reviews.verbs == ["create"]
    claims.delete(name="d", namespace=namespace)


def test_a_definition_makes_a_kind_for_the_dynamic_client(api: Any, namespace: str) -> None:
    group = f"{namespace}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    extensions = kube.ApiextensionsV1Api(api)
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    body = {"metadata": {"name": f"things.{group}"}, "spec": spec}
    extensions.create_custom_resource_definition(body)
    stream = Watch().stream(
        extensions.list_custom_resource_definition,
        field_selector=f"metadata.name=things.{group}",
        timeout_seconds=10,
    )
    for event in stream:
        conditions = event["object"].status.conditions if event["object"].status else []
        if any(each.type == "Established" and each.status == "True" for each in conditions or []):
            break
    objects = kube.CustomObjectsApi(api)
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "size": 1}
    objects.create_namespaced_custom_object(group, "v1", namespace, "things", thing)
    found: Any = objects.get_namespaced_custom_object(group, "v1", namespace, "things", "t")
    assert found["size"] == 1
    extensions.delete_custom_resource_definition(f"things.{group}")


def test_candidates_elect_a_leader(api: Any, namespace: str) -> None:
    election: Any = pytest.importorskip("kubernetes.leaderelection.leaderelection")
    configs: Any = pytest.importorskip("kubernetes.leaderelection.electionconfig")
    locks: Any = pytest.importorskip("kubernetes.leaderelection.resourcelock.leaselock")
    led: list[str] = []
    lost = threading.Event()
    leads = threading.Event()

    def lock(name: str) -> Any:
        made = locks.LeaseLock("leader", namespace, name)
        made.api_instance = kube.CoordinationV1Api(api)
        return made

    def start() -> None:
        led.append("first")
        leads.set()

    first = configs.Config(
        lock("first"),
        lease_duration=3,
        renew_deadline=2,
        retry_period=1,
        onstarted_leading=start,
        onstopped_leading=lost.set,
    )
    threading.Thread(target=election.LeaderElection(first).run, daemon=True).start()
    assert leads.wait(WITHIN_S)
    coordination = kube.CoordinationV1Api(api)
    found = coordination.read_namespaced_lease("leader", namespace)
    assert found.spec
    assert found.spec.holder_identity == "first"
    stolen = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 60}}
    coordination.patch_namespaced_lease("leader", namespace, stolen)
    assert lost.wait(WITHIN_S)

"""RBAC, kubelets, and the rights to parts of a claim's status."""

from __future__ import annotations

from collections.abc import Iterator

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

APPLY = "application/apply-patch+yaml"
SLICE_NAMES = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
CONTAINER = {"name": "c", "image": "i"}
GROUP = "rbac.authorization.k8s.io"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
TOKENS = {
    "admin-token": User("admin", ("system:masters",)),
    "user-token": User("somebody", ("team", "system:authenticated")),
    "node-a-token": User("system:node:node-a", ("system:nodes", "system:authenticated")),
}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A server that looks at rights."""
    server = ApiServer(timeline=Timeline(), tokens=TOKENS, rbac=True)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def user(server: ApiServer) -> Client:
    """Somebody without rights."""
    return Client(server.url, "user-token")


@pytest.fixture
def kubelet(server: ApiServer) -> Client:
    """The kubelet of node-a."""
    return Client(server.url, "node-a-token")


def _grant(client: Client, subject: Json, *rules: Json) -> None:
    client.post(f"{RBAC}/clusterroles", {"metadata": {"name": "r"}, "rules": list(rules)})
    body = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        "subjects": [subject],
    }
    assert client.post(f"{RBAC}/clusterrolebindings", body).code == 201


def _rule(resource: str, *verbs: str, **more: list[str]) -> Json:
    return {"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": [*verbs], **more}


def test_without_a_role_a_user_may_only_look_around(user: Client) -> None:
    assert user.get(SLICES).code == 403
    assert user.get("/nothing").code == 403
    assert user.get("/apis/resource.k8s.io/v1").code == 200
    assert user.get("/openapi/v3").code == 200


@pytest.mark.parametrize(
    "subject", [{"kind": "Group", "name": "team"}, {"kind": "User", "name": "somebody"}]
)
def test_roles_grant_verbs_on_resources(client: Client, user: Client, subject: Json) -> None:
    _grant(client, subject, _rule("resourceslices", "list", "get", resourceNames=["s"]))
    client.post(SLICES, slice_())
    assert user.get(f"{SLICES}/s").code == 200
    assert user.get(f"{SLICES}/other").code == 403
    assert user.delete(f"{SLICES}/s").code == 403


def test_an_apply_that_creates_needs_the_right_to_create(client: Client, user: Client) -> None:
    somebody = {"kind": "User", "name": "somebody"}
    _grant(client, somebody, _rule("resourceslices", "patch"))
    path, body = f"{SLICES}/s", {**SLICE_NAMES, **slice_()}
    refused = user.patch(path, body, APPLY, fieldManager="m")
    assert refused.code == 403
    assert 'cannot create resource "resourceslices"' in refused.json["message"]
    assert client.post(SLICES, slice_()).code == 201
    assert user.patch(path, body, APPLY, fieldManager="m", force="true").code == 200


def test_a_role_of_a_namespace_ends_there(client: Client, user: Client) -> None:
    place = f"{RBAC}/namespaces/default"
    client.post(f"{place}/roles", {"metadata": {"name": "r"}, "rules": [_rule("*", "*")]})
    body = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "somebody"}],
    }
    client.post(f"{place}/rolebindings", body)
    assert user.get(CLAIMS).code == 200
    assert user.get(CLAIMS.replace("default", "kube-system")).code == 403


def test_a_kubelet_has_its_own_slices_and_node(client: Client, kubelet: Client) -> None:
    for name in ("node-a", "node-b"):
        client.post(NODES, {"metadata": {"name": name}})
    client.post(SLICES, slice_("other", nodeName="node-b"))
    assert kubelet.post(SLICES, slice_()).code == 201
    assert kubelet.post(SLICES, slice_("x", nodeName="node-b")).code == 403
    assert kubelet.get(f"{SLICES}/other").code == 403
    assert kubelet.get(SLICES).code == 403
    assert kubelet.get(SLICES, fieldSelector="spec.nodeName=node-a").code == 200
    assert kubelet.delete(SLICES, fieldSelector="spec.nodeName=node-b").code == 403
    assert kubelet.get(f"{NODES}/node-a").code == 200
    assert kubelet.get(f"{NODES}/node-b").code == 403
    label = {"metadata": {"labels": {"node-restriction.kubernetes.io/a": "b"}}}
    assert kubelet.patch(f"{NODES}/node-a", label).code == 403


def test_a_kubelet_reads_the_claims_of_its_pods(client: Client, kubelet: Client) -> None:
    client.post(CLAIMS, claim())
    assert kubelet.get(f"{CLAIMS}/c").code == 403
    spec = {
        "nodeName": "node-a",
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
    }
    assert client.post(PODS, {"metadata": {"name": "p"}, "spec": spec}).code == 201
    assert kubelet.get(f"{CLAIMS}/c").code == 200
    assert kubelet.patch(f"{CLAIMS}/c/status", {"status": {}}).code == 403


def _driver(client: Client, server: ApiServer, *, bound: bool) -> Client:
    client.post(NODES, {"metadata": {"name": "node-a"}})
    client.post(ACCOUNTS, {"metadata": {"name": "drv"}})
    spec = {"nodeName": "node-a", "serviceAccountName": "drv", "containers": [CONTAINER]}
    client.post(PODS, {"metadata": {"name": "drv"}, "spec": spec})
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "drv"}
    body = {"spec": {"boundObjectRef": reference} if bound else {}}
    made = client.post(f"{ACCOUNTS}/drv/token", body)
    assert made.code == 201
    return Client(server.url, made.json["status"]["token"])


def test_a_bound_token_knows_its_node(client: Client, server: ApiServer) -> None:
    driver = _driver(client, server, bound=True)
    found = driver.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}).json
    info = found["status"]["userInfo"]
    assert info["username"] == "system:serviceaccount:default:drv"
    assert info["extra"]["authentication.kubernetes.io/node-name"] == ["node-a"]


@pytest.mark.parametrize(
    ("verb", "bound", "node", "code"),
    [
        ("associated-node:patch", True, "node-a", 200),
        ("associated-node:patch", True, "node-b", 422),
        ("associated-node:patch", False, "node-a", 422),
        ("associated-node:update", True, "node-a", 422),
        ("arbitrary-node:patch", False, "node-b", 200),
    ],
)
def test_device_entries_need_a_right_of_their_own(
    client: Client, server: ApiServer, verb: str, node: str, code: int, *, bound: bool
) -> None:
    driver = _driver(client, server, bound=bound)
    account = {"kind": "ServiceAccount", "name": "drv", "namespace": "default"}
    entry = {"driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}
    _grant(
        client,
        account,
        _rule("resourceclaims/status", "patch"),
        _rule("resourceclaims/driver", verb, resourceNames=["gpu.example.com"]),
    )
    client.post(CLAIMS, claim())
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    pinned = {**allocation(), "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    client.patch(f"{CLAIMS}/c/status", {"status": {"allocation": pinned}})
    answer = driver.patch(f"{CLAIMS}/c/status", {"status": {"devices": [entry]}})
    assert answer.code == code
    assert answer.code == 200 or answer.causes == {("status.devices", "Forbidden")}


def test_an_aggregated_role_has_the_rules_of_those_it_selects(client: Client, user: Client) -> None:
    labels = {"labels": {"to": "team"}}
    for number, resource in enumerate(("resourceslices", "deviceclasses")):
        body = {
            "metadata": {"name": f"part-{number}", **labels},
            "rules": [_rule(resource, "list")],
        }
        client.post(f"{RBAC}/clusterroles", body)
    whole = {
        "metadata": {"name": "whole"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "team"}}]},
        "rules": [],
    }
    assert client.post(f"{RBAC}/clusterroles", whole).code == 201
    binding = {
        "metadata": {"name": "whole"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "whole"},
        "subjects": [{"kind": "Group", "name": "team"}],
    }
    client.post(f"{RBAC}/clusterrolebindings", binding)
    assert user.get(SLICES).code == 200
    assert user.get("/apis/resource.k8s.io/v1/deviceclasses").code == 200
    assert user.get(CLAIMS).code == 403


@pytest.mark.parametrize(
    ("role", "codes"),
    [("cluster-admin", (200, 200)), ("view", (200, 403)), ("nothing", (403, 403))],
)
def test_bindings_may_name_roles_that_every_cluster_has(
    client: Client, user: Client, role: str, codes: tuple[int, int]
) -> None:
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": "somebody"}],
    }
    client.post(f"{RBAC}/clusterrolebindings", binding)
    assert (user.get(CLAIMS).code, user.get(SLICES).code) == codes
    told = user.get("/api/v1/namespaces/default/secrets").json.get("message", "")
    lost = f'clusterrole.rbac.authorization.k8s.io "{role}" not found' in told
    assert lost is (role == "nothing")


def test_who_acts_as_another_needs_the_right_to(client: Client, user: Client) -> None:
    def told() -> str:
        answer = user.send("GET", SLICES, headers={"Impersonate-User": "other"})
        return str(answer.json["message"])

    assert 'cannot impersonate resource "users"' in told()
    rule = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}
    _grant(client, {"kind": "User", "name": "somebody"}, {**rule, "resourceNames": ["other"]})
    assert 'User "other" cannot list' in told()
    assert user.send("GET", SLICES, headers={"Impersonate-Group": "x"}).code == 400


def test_allocating_needs_the_right_to_bind(client: Client, server: ApiServer) -> None:
    driver = _driver(client, server, bound=True)
    account = {"kind": "ServiceAccount", "name": "drv", "namespace": "default"}
    _grant(client, account, _rule("resourceclaims/status", "patch"))
    client.post(CLAIMS, claim())
    refused = driver.patch(f"{CLAIMS}/c/status", {"status": {"allocation": allocation()}})
    assert refused.causes == {("status.allocation", "Forbidden")}

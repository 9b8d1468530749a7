"""Rights are asked for before anything is made."""

from __future__ import annotations

import pytest

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.embedded.kubeconfig import write_kubeconfig
from pytest_dra.kube import Client
from pytest_dra.live import needed
from pytest_dra.live.needed import must_be_granted
from pytest_dra.live.needed import needs_of
from pytest_dra.spec import Json
from tests.clusters.embeddedcluster import embedded

__all__ = ["embedded"]

CLASS: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com"},
    "spec": {},
}


def test_an_administrator_may_do_all_of_it(embedded: EmbeddedCluster) -> None:
    client = embedded.admin()
    must_be_granted(client, needs_of(client, [CLASS], namespace="dra-run", allocates=True))


def test_what_is_missing_is_told_at_once(
    embedded: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = embedded.admin()
    needs = needs_of(client, [CLASS], namespace="dra-run", allocates=False)
    refused = {("create", "deviceclasses"), ("delete", "deviceclasses"), ("create", "pods")}
    monkeypatch.setattr(
        needed, "_has", lambda client, need: (need.verb, need.resource.plural) not in refused
    )
    with pytest.raises(ClusterError) as caught:
        must_be_granted(client, needs)
    said = str(caught.value)
    assert said.startswith("this user may not: ")
    assert "create pods in namespace dra-run" in said
    assert "create, delete deviceclasses.resource.k8s.io" in said


ROLE: Json = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "plugin"},
    "rules": [
        {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    ],
}
BINDING: Json = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "plugin", "namespace": "drivers"},
    "roleRef": {"kind": "ClusterRole", "name": "plugin"},
}
PLUGIN: Json = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "plugin", "namespace": "drivers"},
    "spec": {"template": {"spec": {"containers": []}}},
}


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (set(), ""),
        ({("escalate", "clusterroles"), ("bind", "clusterroles")}, ""),
        (
            {("escalate", "clusterroles"), ("bind", "clusterroles"), ("get", "nodes")},
            "escalate clusterroles.rbac.authorization.k8s.io plugin; "
            "bind clusterroles.rbac.authorization.k8s.io plugin in namespace drivers",
        ),
    ],
)
def test_roles_are_granted_by_who_has_what_they_grant_or_may_all_the_same(
    embedded: EmbeddedCluster,
    monkeypatch: pytest.MonkeyPatch,
    refused: set[tuple[str, str]],
    told: str,
) -> None:
    client = embedded.admin()
    needs = needs_of(client, [ROLE, BINDING], namespace="dra-run")
    monkeypatch.setattr(
        needed, "_has", lambda client, need: (need.verb, need.resource.plural) not in refused
    )
    assert needed.missing(client, needs) == told


def test_cases_act_in_the_plugins_namespace(embedded: EmbeddedCluster) -> None:
    def asked(**more: bool) -> set[str]:
        needs = needs_of(embedded.admin(), [PLUGIN], namespace="dra-run", **more)
        return {f"{need.verb} {need.what}" for need in needs}

    assert "create pods/exec in namespace drivers" in asked()
    assert "create pods in namespace drivers" not in asked()
    disturbing = asked(disturbs=True)
    assert "create pods in namespace drivers" in disturbing
    extra = "userextras/authentication.kubernetes.io/node-name.authentication.k8s.io"
    assert f"impersonate {extra}" in disturbing


def test_what_a_run_can_go_without_is_not_needed(embedded: EmbeddedCluster) -> None:
    wished = set(needed.wished())
    assert {need.what for need in wished} == {"nodes", "nodes/proxy"}
    assert not wished & set(needs_of(embedded.admin(), [PLUGIN], namespace="dra-run"))


def test_the_questions_are_those_of_the_server() -> None:
    pods = Resource("", "v1", "pods", "Pod", namespaced=True)
    need = needed.Need(verb="create", resource=pods, namespace="n", subresource="exec")
    assert need.what == "pods/exec in namespace n"
    assert need.body()["spec"]["resourceAttributes"] == {
        "verb": "create",
        "version": "v1",
        "resource": "pods",
        "subresource": "exec",
        "namespace": "n",
    }


def test_a_user_without_rights_gets_none(embedded: EmbeddedCluster) -> None:
    file = embedded.admin_kubeconfig().with_name("nobody")
    write_kubeconfig(file, server=embedded.url, token="nobody")
    client = Client(file)
    with pytest.raises(ClusterError, match="cannot be asked"):
        must_be_granted(client, [needed.Need(verb="create", resource=resources.PODS)])
    client.close()


def test_objects_of_a_kind_that_is_not_served_are_told(embedded: EmbeddedCluster) -> None:
    item = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    with pytest.raises(ClusterError, match=r"^the cluster serves no Widget of example\.com/v1$"):
        needs_of(embedded.admin(), [item], namespace="dra-run", allocates=False)

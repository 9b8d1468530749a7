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

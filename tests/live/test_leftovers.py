"""What a run has made on a cluster is found by its label, and removed once the run has ended."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_dra.api import resources
from pytest_dra.cleaning import clean
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.live import leftovers
from pytest_dra.live.deployment import OWNER
from pytest_dra.live.deployment import Deployment
from pytest_dra.live.deployment import marks_of
from pytest_dra.live.leftovers import ended_runs
from pytest_dra.live.leftovers import remove_run
from pytest_dra.live.leftovers import runs_on
from pytest_dra.options import resolve
from pytest_dra.spec import Json
from tests.clusters.embeddedcluster import embedded

__all__ = ["embedded"]

CLASS: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com"},
    "spec": {},
}
ACCOUNT: Json = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "plugin", "namespace": "drivers"},
}


def namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployed(client: Client, run: str) -> None:
    objects = [namespace(f"dra-{run}"), namespace("drivers"), ACCOUNT, CLASS]
    Deployment(client, marks=marks_of(run, Owner.here()), objects=objects).apply()


def end(client: Client, run: str) -> None:
    """Let the run's process be one that has ended."""
    gone = dataclasses.replace(Owner.here(), start="1").written()
    for left in runs_on(client):
        for each in left.objects:
            if left.run == run:
                client.patch(
                    each.resource,
                    each.name,
                    {"metadata": {"annotations": {OWNER: gone}}},
                    namespace=each.namespace,
                )


def names(client: Client) -> set[str]:
    return {
        str(each["metadata"]["name"])
        for resource in (resources.NAMESPACES, resources.DEVICE_CLASSES)
        for each in client.list(resource)
    }


def test_everything_of_a_run_is_found_and_removed_and_nothing_else(
    embedded: EmbeddedCluster,
) -> None:
    client = embedded.admin()
    client.create(resources.NAMESPACES, namespace("theirs"))
    before = names(client)
    deployed(client, "aa")
    (left,) = runs_on(client)
    assert left.run == "aa"
    assert sorted(map(str, left.objects)) == [
        "DeviceClass gpu.example.com",
        "Namespace dra-aa",
        "Namespace drivers",
        "ServiceAccount drivers/plugin",
    ]
    assert remove_run(client, "aa") == []
    assert names(client) == before


def test_a_run_that_is_alive_is_left_alone(
    embedded: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    client = embedded.admin()
    deployed(client, "aa")
    assert ended_runs(client) == []
    assert cleaned() == 0
    assert "left alone: run aa: process" in capsys.readouterr().out
    assert "dra-aa" in names(client)


def test_a_run_that_has_ended_is_removed(
    embedded: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    client = embedded.admin()
    deployed(client, "aa")
    end(client, "aa")
    assert ended_runs(client) == ["aa"]
    assert cleaned() == 0
    said = capsys.readouterr().out
    assert "removed: run aa:" in said
    assert "nothing is left of ended runs" in said
    assert runs_on(client) == []


def test_what_says_nothing_of_its_run_is_left_alone(
    embedded: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    client = embedded.admin()
    labelled = namespace("odd")
    labelled["metadata"]["labels"] = {"pytest-dra.dev/run": "zz"}
    client.create(resources.NAMESPACES, labelled)
    assert cleaned() == 0
    assert "run zz: nothing says which process has made it" in capsys.readouterr().out
    assert "odd" in names(client)


def test_the_keepers_command_removes_a_run_that_is_alive(embedded: EmbeddedCluster) -> None:
    deployed(embedded.admin(), "aa")
    _, *rest = leftovers.removing(embedded.admin_kubeconfig(), "aa")
    assert rest[:2] == ["-m", "pytest_dra.live.leftovers"]
    assert leftovers.main(rest[2:]) == 0
    assert runs_on(embedded.admin()) == []


def test_what_another_run_has_left_is_not_overwritten(embedded: EmbeddedCluster) -> None:
    deployed(embedded.admin(), "aa")
    with pytest.raises(ClusterError, match=r"^Namespace drivers exists .* --dra-cleanup"):
        deployed(embedded.admin(), "bb")


def cleaned() -> int:
    options = {"dra_cluster": "kubeconfig:", "dra_engine": "/no/engine"}
    return clean(resolve(flag=options.get, ini=lambda _: None, environ={}))

"""A run that judges one node of many: what it looks at is that node's, and nothing of others."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from typing import cast

import pytest

from pytest_dra.api import resources
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.conformance.test_slice_live import test_slice_006_pool_of_each_node as slice_006
from pytest_dra.kube import Client
from pytest_dra.live import LiveBench
from pytest_dra.live import driver as module
from pytest_dra.live import installed
from pytest_dra.live.driver import LiveDriver
from pytest_dra.live.setup import LiveSetup
from pytest_dra.options import OptionError
from pytest_dra.options import resolve
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.refusals import at_wire
from pytest_dra.refusals import check_later_features
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

NAME = "gpu.example.com"


@pytest.fixture
def published(client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Slices of two nodes, whose pools have one name, of a third, and of no node."""
    monkeypatch.setattr(module, "INSTALLED_S", 0.2)
    places: dict[str, dict[str, Any]] = {
        "one": {"nodeName": "node-1"},
        "two": {"nodeName": "node-2"},
        "three": {"nodeName": "node-3"},
        "all": {"allNodes": True},
    }
    for name, place in places.items():
        pool = "pool" if name in ("two", "three") else name
        client.create(
            resources.RESOURCE_SLICES,
            {
                "metadata": {"name": name},
                "spec": {
                    "driver": NAME,
                    "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": "gpu-0"}],
                    **place,
                },
            },
        )
    yield
    client.delete_collection(resources.RESOURCE_SLICES)


def driver_on(client: Client, node: str) -> LiveDriver:
    version = kubernetes_version()
    return LiveDriver(client, name=NAME, version=version, marks={}, objects=[], node=node)


def names(found: list[dict[str, Any]]) -> set[str]:
    return {each["metadata"]["name"] for each in found}


@pytest.mark.usefixtures("published")
def test_slices_of_other_nodes_are_left_out(client: Client) -> None:
    driver = driver_on(client, "node-2")
    assert names(driver.slices()) == names(driver.must_publish()) == {"two", "all"}
    assert names(driver.everywhere()) == {"one", "two", "three", "all"}
    assert driver.judged() == ["node-2"]
    assert driver.nodes() == ["node-2", "node-1", "node-3"]
    assert driver_on(client, "").judged() == ["node-1", "node-2", "node-3"]


@pytest.mark.usefixtures("published")
def test_a_node_without_slices_is_told_by_its_name(client: Client) -> None:
    with pytest.raises(Violation, match=r"^ResourceSlices of gpu\.example\.com on node node-4\n"):
        driver_on(client, "node-4").must_publish()


@pytest.mark.usefixtures("published")
def test_a_driver_without_slices_of_any_node_has_none_to_judge(client: Client) -> None:
    for name in ("one", "two", "three"):
        client.delete(resources.RESOURCE_SLICES, name)
    driver = driver_on(client, "node-2")
    assert names(driver.must_publish()) == {"all"}
    with pytest.raises(UnsupportedEnvironment, match="no slice of the driver belongs to one node"):
        driver.nodes()


@pytest.mark.usefixtures("published")
def test_the_plugin_of_an_installed_driver_is_that_of_the_node(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[str]] = []

    def plugins_of(name: str, pods: list[Any], *, nodes: set[str]) -> list[Any]:
        asked.append(nodes)
        return []

    monkeypatch.setattr(installed, "plugins_of", plugins_of)
    driver_on(client, "node-2").plugin_pods()
    assert asked == [{"node-2"}]


@pytest.mark.usefixtures("published")
def test_pools_with_one_name_are_the_fault_of_the_nodes_that_have_them(client: Client) -> None:
    def judge(node: str) -> None:
        slice_006(cast("LiveBench", SimpleNamespace(driver=driver_on(client, node))))

    judge("node-1")
    for node in ("node-2", "node-3", ""):
        with pytest.raises(Violation, match="pool"):
            judge(node)
    for name in ("one", "three"):
        client.delete(resources.RESOURCE_SLICES, name)
    with pytest.raises(NotApplicable):
        judge("node-2")


def test_no_second_driver_is_deployed_for_one_node(client: Client) -> None:
    cluster = cast("WholeCluster", SimpleNamespace(admin=lambda: client))
    setup = LiveSetup(
        cluster=cluster, profile=DEFAULT_PROFILE, driver_name=NAME, run="r", node="node-1"
    )
    with pytest.raises(UnsupportedEnvironment, match="deploys no second driver"):
        with LiveBench(setup).partner():
            pass


def test_a_node_is_chosen_on_whole_clusters_alone() -> None:
    def given(cluster: str) -> Any:
        flags = {"dra_driver": "fake", "dra_cluster": cluster, "dra_node": "node-1"}
        return resolve(flag=flags.get, ini=lambda _: None, environ={})

    with pytest.raises(OptionError, match="--dra-cluster=embedded has one node"):
        check_later_features(given("embedded"))
    check_later_features(given("kubeconfig:c"))
    assert at_wire(given("kubeconfig:c"))["dra_node"] == ""

"""The pods of an installed driver are found by what a plugin has to mount."""

from __future__ import annotations

from pytest_dra.live.installed import nodes_of
from pytest_dra.live.installed import plugins_of
from pytest_dra.spec import Json


def pod(
    of: str, path: str, *, node: str = "n1", argument: str = "", kind: str = "DaemonSet"
) -> Json:
    return {
        "metadata": {
            "name": f"{of}-1",
            "namespace": "drivers",
            "ownerReferences": [{"kind": kind, "name": of}],
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "args": [argument]}],
            "volumes": [{"name": "v", "hostPath": {"path": path}}],
        },
    }


PLUGIN = pod("gpu", "/var/lib/kubelet/plugins")


def found(*pods: Json, nodes: tuple[str, ...] = ("n1",)) -> list[str]:
    return [each["metadata"]["name"] for each in plugins_of("gpu.example.com", pods, nodes=nodes)]


def test_the_only_set_that_mounts_the_plugins_is_it() -> None:
    assert found(PLUGIN, pod("log", "/var/log"), pod("all", "/")) == ["gpu-1"]


def test_of_several_the_one_that_names_the_driver_is_it() -> None:
    named = pod("nic", "/var/lib/kubelet/plugins/gpu.example.com")
    assert found(PLUGIN, named) == ["nic-1"]
    assert found(PLUGIN, pod("x", "/var/lib/kubelet", argument="--name=gpu.example.com")) == ["x-1"]


def test_nothing_is_guessed() -> None:
    assert found(PLUGIN, pod("csi", "/var/lib/kubelet/plugins")) == []
    assert found(pod("gpu", "/var/lib/kubelet/plugins", kind="ReplicaSet")) == []
    assert found(PLUGIN, nodes=("n2",)) == []
    assert found({"metadata": {}, "spec": {"nodeName": "n1"}}) == []


def test_a_node_whose_plugin_publishes_nothing_is_one_of_the_drivers() -> None:
    broken = pod("gpu", "/var/lib/kubelet/plugins", node="n2")
    pods = [PLUGIN, broken, pod("log", "/var/log", node="n3")]
    assert nodes_of("gpu.example.com", pods, publishing=["n1"]) == ["n1", "n2"]


def test_where_no_plugin_is_sure_the_nodes_are_those_with_devices() -> None:
    pods = [PLUGIN, pod("csi", "/var/lib/kubelet/plugins")]
    assert nodes_of("gpu.example.com", pods, publishing=["n9", "n1"]) == ["n1", "n9"]

"""The driver on a cluster: what is deployed, what it publishes, and what it may not write."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from pytest_dra.api import resources
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.checks.workloads import plugins_among
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.live import driver as module
from pytest_dra.live import leftovers
from pytest_dra.live import partner
from pytest_dra.live import screening
from pytest_dra.live.deployment import LABEL
from pytest_dra.live.deployment import marks_of
from pytest_dra.live.deployment import resource_of
from pytest_dra.live.driver import LiveDriver
from pytest_dra.live.foreign import Foreign
from pytest_dra.live.hooks import run_hook
from pytest_dra.live.partner import Partner
from pytest_dra.live.shipment import ordered
from pytest_dra.live.shipment import workloads_of
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

NAME, NODE, CLASS = "fake.dra.example", "node-1", "gpu.fake.dra.example"
GOOD = {"apiVersion": "fake.dra.example/v1", "kind": "DeviceConfig", "mode": "shared"}


def manifests(*arguments: str) -> list[dict[str, Any]]:
    """What the bundled driver ships."""
    command = [sys.executable, "-m", "pytest_dra.fake_driver", "--print-manifests", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    return ordered(yaml.safe_load_all(done.stdout))


def driver_of(client: Client, objects: list[dict[str, Any]]) -> LiveDriver:
    marks = marks_of("r1", Owner.here())
    return LiveDriver(client, name=NAME, version=kubernetes_version(), marks=marks, objects=objects)


@pytest.fixture
def driver(client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveDriver]:
    monkeypatch.setattr(module, "DEPLOYED_S", 0.2)
    made = driver_of(client, manifests("--features=webhook"))
    made.install()
    yield made
    made.uninstall()
    made.sweep()


def publish(client: Client, *, node: str = NODE, kinds: tuple[str, ...] = ("gpu",)) -> None:
    devices = [
        {"name": f"{kind}-{n}", "attributes": {"kind": {"string": kind}, "index": {"int": n}}}
        for n, kind in enumerate(kinds)
    ]
    client.create(
        resources.RESOURCE_SLICES,
        {
            "metadata": {"name": f"slice-of-{node}"},
            "spec": {
                "driver": NAME,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        },
    )


def test_what_is_deployed_is_labelled_and_goes_again(client: Client, driver: LiveDriver) -> None:
    (found,) = client.list(resources.DEVICE_CLASSES, label_selector=f"{LABEL}=r1")
    assert found["metadata"]["name"] == CLASS
    assert driver.uninstall() == []
    assert client.list(resources.DEVICE_CLASSES, label_selector=f"{LABEL}=r1") == []


def test_what_is_there_already_is_not_taken_over(client: Client, driver: LiveDriver) -> None:
    other = driver_of(client, driver.objects[:])  # type: ignore[arg-type]
    with pytest.raises(ClusterError, match="exists on the cluster and is not of this run"):
        other.install()
    assert len(client.list(resources.DEVICE_CLASSES)) == 1


def test_a_driver_that_publishes_nothing_is_told(driver: LiveDriver) -> None:
    with pytest.raises(Violation, match=r"none; no pod of the driver"):
        driver.must_publish()


def test_an_image_that_no_node_can_get_is_not_the_drivers(
    client: Client, driver: LiveDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IMAGES_S", 0.0)
    plugin_pod(client, "plugin")
    waiting = {"name": "plugin", "state": {"waiting": {"reason": "ErrImagePull"}}}
    client.patch(
        resources.PODS,
        "plugin",
        {"status": {"containerStatuses": [waiting]}},
        namespace="dra-fake-driver",
        subresource="status",
    )
    with pytest.raises(ClusterError, match=r"ErrImagePull: the node has no image x .* build or"):
        driver.must_publish()


def test_devices_are_those_of_the_class_on_the_first_node(
    client: Client, driver: LiveDriver
) -> None:
    publish(client, kinds=("gpu", "nic", "gpu"))
    publish(client, node="node-2")
    assert driver.nodes() == ["node-1", "node-2"]
    assert [device["name"] for _, device in driver.devices(CLASS)] == ["gpu-0", "gpu-2"]
    selector = f'device.attributes["{NAME}"].index == 2'
    assert [device["name"] for _, device in driver.devices(CLASS, selector)] == ["gpu-2"]
    with pytest.raises(ClusterError, match="DeviceClass none"):
        driver.devices("none")


def test_a_driver_that_is_away_comes_back(client: Client, driver: LiveDriver) -> None:
    with driver.away():
        assert client.list(resources.DEVICE_CLASSES) == []
    assert len(client.list(resources.DEVICE_CLASSES)) == 1
    with pytest.raises(RuntimeError, match="midway"), driver.away():
        raise RuntimeError("midway")
    assert len(client.list(resources.DEVICE_CLASSES)) == 1


def test_a_plugin_that_is_away_leaves_everything_else(client: Client, driver: LiveDriver) -> None:
    def sets() -> list[str]:
        kind = resource_of(client, {"apiVersion": "apps/v1", "kind": "DaemonSet"})
        return [each["metadata"]["name"] for each in client.list(kind)]

    with driver.without_plugin():
        assert sets() == []
        assert len(client.list(resources.DEVICE_CLASSES)) == 1
    assert sets() == ["dra-fake-driver"]
    (other,) = (dict(each) for each in driver.objects if each["kind"] == "DaemonSet")
    other = {**other, "metadata": {**other["metadata"], "labels": {"release": "previous"}}}
    with driver.without_plugin(instead=[other]):
        assert sets() == ["dra-fake-driver"]
        assert len(client.list(resource_of(client, other), label_selector="release")) == 1
    assert client.list(resource_of(client, other), label_selector="release") == []
    assert driver.uninstall() == []
    assert sets() == []


def test_what_somebody_else_has_installed_is_left_alone(client: Client) -> None:
    with pytest.raises(UnsupportedEnvironment, match="installed by somebody else"):
        driver_of(client, []).must_be_ours()
    with pytest.raises(UnsupportedEnvironment), driver_of(client, []).away():
        pass


def plugin_pod(client: Client, name: str) -> None:
    """What a DaemonSet's controller and a kubelet would make."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "dra-fake-driver", "uid": "1"}
    client.create(
        resources.PODS,
        {
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {
                "nodeName": NODE,
                "serviceAccountName": "dra-fake-driver",
                "containers": [{"name": "plugin", "image": "x"}],
            },
        },
        namespace="dra-fake-driver",
    )
    client.patch(
        resources.PODS,
        name,
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        namespace="dra-fake-driver",
        subresource="status",
    )


def test_a_restart_ends_the_plugins_pods_and_waits_for_others(
    client: Client, driver: LiveDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RESTARTED_S", 0.2)
    with pytest.raises(UnsupportedEnvironment, match="no pod of a DaemonSet"):
        driver.restart()
    plugin_pod(client, "old")
    assert [each["metadata"]["name"] for each in driver.plugin_pods()] == ["old"]
    delete = client.delete

    def replaced(*given: Any, **more: Any) -> Any:
        answer = delete(*given, **{**more, "grace_s": 0})
        plugin_pod(client, "new")
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(client, "delete", replaced)
        driver.restart()
    with pytest.raises(Violation, match=r"new ones, ready within 0\.2 s"):
        driver.restart()


def test_a_hook_runs_in_the_plugins_container(
    client: Client, driver: LiveDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"node": NODE, "device": "gpu-0"}
    with pytest.raises(UnsupportedEnvironment, match="no plugin's pod on node node-1"):
        run_hook(driver, "hooks.fault", ["true"], values)
    plugin_pod(client, "plugin")
    asked: list[Any] = []
    code = 0

    def run(*given: Any, timeout_s: float) -> tuple[int, str, str]:
        asked.append(given)
        return code, "done", "no such device"

    monkeypatch.setattr(client, "run", run)
    command = ["touch", "{driver_dir}/faulty-{device}"]
    assert run_hook(driver, "hooks.fault", command, values) == "done"
    path = f"/var/lib/kubelet/plugins/{NAME}/faulty-gpu-0"
    assert asked == [("dra-fake-driver", "plugin", "plugin", ("touch", path))]
    code = 3
    with pytest.raises(UnsupportedEnvironment, match=r"ended with 3 .*: no such device"):
        run_hook(driver, "hooks.fault", command, values)


def foreign(client: Client, driver: LiveDriver) -> Foreign:
    (plugin,) = plugins_among(workloads_of(driver.objects))
    marks = marks_of("r1", Owner.here())
    return Foreign(client, driver=NAME, node=NODE, plugin=plugin, run="r1", marks=marks)


def test_the_shipped_policy_refuses_slices_of_others(client: Client, driver: LiveDriver) -> None:
    foreign(client, driver).must_be_refused()
    assert driver.slices() == []


def test_what_is_tried_is_removed_by_its_label_where_the_run_is_killed(
    client: Client, driver: LiveDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = foreign(client, driver)
    monkeypatch.setattr(killed, "_clear", lambda: None)
    killed.must_be_refused()
    assert len(driver.slices()) == 2
    assert leftovers.remove_run(client, "r1") == []
    assert driver.slices() == []


def test_without_the_policy_what_is_accepted_is_told(client: Client) -> None:
    made = driver_of(client, manifests("--fault=SEC-003"))
    made.install()
    try:
        with pytest.raises(Violation) as caught:
            foreign(client, made).must_be_refused()
    finally:
        made.uninstall()
    assert caught.value.got == (
        "accepted: create one of another node, delete one of another node, "
        "create one of all nodes, delete one of all nodes"
    )
    assert made.slices() == []


def test_bad_configuration_is_refused_in_each_served_version(
    client: Client, driver: LiveDriver, namespace: str
) -> None:
    assert screening.served(client)[0] == "v1"
    for version in screening.served(client):
        for kind in screening.KINDS:
            good = screening.body(kind, version, CLASS, NAME, GOOD)
            bad = screening.body(kind, version, CLASS, NAME, {**GOOD, "mode": "upside-down"})
            screening.must_be_taken(client, good, namespace)
            screening.must_be_refused(client, bad, namespace)
            with pytest.raises(Violation, match="want: taken"):
                screening.must_be_taken(client, bad, namespace)
            with pytest.raises(Violation, match="got:  'taken'"):
                screening.must_be_refused(client, good, namespace)


def test_the_second_driver_has_another_name_everywhere() -> None:
    objects = Partner(image="localhost/dra-fake-driver:1", build=lambda _: None).objects()
    text = yaml.safe_dump_all(objects)
    assert NAME not in text.replace(partner.NAME, "")
    (workload,) = workloads_of(objects)
    (_, container), *_ = workload.containers
    assert container["command"] == ["dra-fake-driver"]
    assert container["args"] == [f"--driver-name={partner.NAME}"]
    assert container["image"] == "localhost/dra-fake-driver:1"
    (found,) = (each for each in objects if each["kind"] == "DeviceClass")
    assert found["metadata"]["name"] == partner.DEVICE_CLASS

"""An image that comes without manifests is deployed by ours, by which it is not judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.api import resources
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.checks.workloads import plugins_must_be_fit_for_nodes
from pytest_dra.clusters.owner import Owner
from pytest_dra.kube import Client
from pytest_dra.live import generated
from pytest_dra.live.deployment import marks_of
from pytest_dra.live.driver import LiveDriver
from pytest_dra.live.shipment import plugins_of
from pytest_dra.options import resolve
from pytest_dra.plan import Plan
from pytest_dra.planning import plan_of
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from tests.clusters.stubs import Stub

NAME = "gpu.example.com"
OURS = "dra-driver-gpu-example-com"
NOTHING: Mapping[str, object] = {}

PROFILE = """\
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver: {name: gpu.example.com, deviceClasses: [big.example.com]}
"""


def planned(folder: Path, driver: str, **options: str) -> Plan:
    programs = {
        f"dra_{option}": Stub(folder, name, "sys.exit(9)").program
        for option, name in (("kind", "kind"), ("engine", "docker"))
    }
    given = {"dra_cluster": "kind", "dra_driver": driver, **programs, **options}
    _, plan = plan_of(resolve(flag=given.get, ini=NOTHING.get, environ={}))
    return plan


def container_of(objects: tuple[Json, ...]) -> Any:
    (plugin,) = plugins_of(objects)
    ((_, container),) = plugin.containers
    return container


def test_an_image_alone_is_deployed_with_rights_class_and_placeholders(tmp_path: Path) -> None:
    driver = "reg.example/driver:2 --node={node} --dir={driver_dir} --cdi={cdi_dir} {{}}"
    plan = planned(
        tmp_path, driver, dra_driver_name=NAME, dra_driver_previous="reg.example/driver:1 {node}"
    )
    assert plan.live is not None
    shown = [f"{each['kind']} {each['metadata']['name']}" for each in plan.live.objects]
    kinds = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    rest = [f"DeviceClass {NAME}", f"DaemonSet {OURS}"]
    assert shown == [*(f"{kind} {OURS}" for kind in kinds), *rest]
    container = container_of(plan.live.objects)
    assert container["image"] == "reg.example/driver:2"
    assert container["args"] == [
        "--node=$(NODE_NAME)",
        f"--dir=/var/lib/kubelet/plugins/{NAME}",
        "--cdi=/var/run/cdi",
        "{}",
    ]
    assert container_of(plan.live.previous)["args"] == ["$(NODE_NAME)"]
    assert plan.live.images == ("reg.example/driver:2", "reg.example/driver:1")
    assert plan.profile.driver.device_classes == (NAME,)


def test_classes_of_the_profile_stay(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROFILE)
    plan = planned(tmp_path, "driver:1", dra_profile=str(tmp_path / "p.yaml"))
    assert plan.profile.driver.device_classes == ("big.example.com",)


def test_the_plugin_is_fit_for_a_node() -> None:
    plugins = plugins_of(generated.objects_for(NAME))
    assert not list(plugins_must_be_fit_for_nodes(plugins, seamless=False, injects_cdi=True))


def test_it_is_made_and_removed_and_its_class_selects_what_the_driver_publishes(
    client: Client,
) -> None:
    objects = generated.objects_for(NAME)
    marks = marks_of("r1", Owner.here())
    driver = LiveDriver(
        client, name=NAME, version=kubernetes_version(), marks=marks, objects=objects
    )
    driver.install()
    spec = {
        "driver": NAME,
        "nodeName": "node-1",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}],
    }
    client.create(resources.RESOURCE_SLICES, {"metadata": {"name": "gpu"}, "spec": spec})
    try:
        assert [each["name"] for _, each in driver.devices(NAME)] == ["gpu-0"]
    finally:
        client.delete(resources.RESOURCE_SLICES, "gpu")
        assert driver.uninstall() == []


def test_no_driver_is_judged_by_rights_that_are_ours() -> None:
    (plugin,) = plugins_of(generated.objects_for(NAME))
    with pytest.raises(UnsupportedEnvironment, match="made by the suite") as caught:
        generated.must_be_shipped(plugin.item)
    assert caught.value.way_out == generated.MANIFESTS
    item = {**plugin.item, "metadata": {"name": "theirs"}}
    generated.must_be_shipped(item)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("GPU.Example.com", "dra-driver-gpu-example-com"),
        (f"{'x' * 60}.example.com", f"dra-driver-{'x' * 50}"),
    ],
)
def test_objects_have_names_that_a_server_takes(name: str, ours: str) -> None:
    (plugin,) = plugins_of(generated.objects_for(name))
    assert plugin.item["metadata"]["name"] == ours

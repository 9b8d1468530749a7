"""Manifests become objects in the order in which they can be made, with the image under test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_dra.live.shipment import ShipmentError
from pytest_dra.live.shipment import images_of
from pytest_dra.live.shipment import objects_of
from pytest_dra.live.shipment import ordered
from pytest_dra.live.shipment import put_image


def workload(*images: str, kind: str = "DaemonSet", registry: bool = True) -> dict[str, Any]:
    path = "/var/lib/kubelet/plugins_registry" if registry else "/tmp"
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "plugin", "namespace": "drivers"},
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": f"c{number}",
                            "image": image,
                            "args": ["-v"],
                            "volumeMounts": [{"name": "registry", "mountPath": path}],
                        }
                        for number, image in enumerate(images)
                    ],
                    "volumes": [{"name": "registry", "hostPath": {"path": path}}],
                }
            }
        },
    }


def containers(item: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = item["spec"]["template"]["spec"]["containers"]
    return found


def test_what_others_need_comes_first_and_pods_come_last() -> None:
    kinds = ["DaemonSet", "Foo", "DeviceClass", "ClusterRole", "ServiceAccount", "Namespace"]
    made = ordered({"apiVersion": "v1", "kind": kind} for kind in kinds)
    assert [each["kind"] for each in made] == [
        *("Namespace", "ServiceAccount", "ClusterRole", "DeviceClass", "Foo", "DaemonSet")
    ]


def test_a_folder_is_read_with_what_lies_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ServiceAccount\n---\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.yml").write_text("apiVersion: v1\nkind: Namespace\n")
    (tmp_path / "README.md").write_text("kind: [")
    assert [each["kind"] for each in objects_of([tmp_path])] == ["Namespace", "ServiceAccount"]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ShipmentError, match=r"^manifests: "):
        objects_of([tmp_path / "none.yaml"])
    with pytest.raises(ShipmentError, match="without apiVersion or kind"):
        ordered([{"kind": "Pod"}])


def test_the_container_of_the_same_image_name_runs_what_is_under_test() -> None:
    item = workload("registry.example/tools:1", "registry.example/v1/driver:1.0")
    put_image([item], "localhost/driver:test", arguments=["--fault=X"])
    assert [each["image"] for each in containers(item)] == [
        "registry.example/tools:1",
        "localhost/driver:test",
    ]
    assert containers(item)[1]["args"] == ["-v", "--fault=X"]
    assert containers(item)[1]["imagePullPolicy"] == "IfNotPresent"
    assert images_of([item]) == ["registry.example/tools:1", "localhost/driver:test"]


def test_else_the_first_container_of_the_plugin_runs_it() -> None:
    item = workload("a:1", "b:1")
    put_image([item], "driver@sha256:0")
    assert images_of([item]) == ["driver@sha256:0", "b:1"]


def test_without_a_daemonset_there_is_nothing_to_run_it() -> None:
    with pytest.raises(ShipmentError, match="there is no DaemonSet"):
        put_image([{"apiVersion": "v1", "kind": "Namespace"}], "driver:1")


@pytest.mark.parametrize(
    ("file", "text", "wanted"),
    [
        ("deep/chart/Chart.yaml", "apiVersion: v2\nname: x\n", "deep/chart is a Helm chart: give"),
        ("site/kustomization.yaml", "resources: []\n", "site is a kustomize directory: give that"),
        (
            "gpu/templates/a.yaml",
            "a: {{ .Values.x }}\n",
            "gpu is meant to be a Helm chart: it has no",
        ),
        ("gpu/a.yaml", "a: [\n", ""),
    ],
)
def test_a_folder_that_has_to_be_rendered_is_told_from_a_bad_one(
    file: str, text: str, wanted: str, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    with pytest.raises(ShipmentError) as caught:
        objects_of([tmp_path])
    assert str(tmp_path / file) in str(caught.value)
    assert wanted in str(caught.value)
    assert bool(wanted) == (" Helm " in str(caught.value) or "kustomize" in str(caught.value))

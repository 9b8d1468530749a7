"""How a driver gets onto a cluster is decided, and refused, before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.liveplanning import _named
from pytest_dra.options import OptionError
from pytest_dra.options import resolve
from pytest_dra.plan import Plan
from pytest_dra.planning import plan_of
from pytest_dra.spec import Json
from tests.clusters.stubs import Stub

NOTHING: Mapping[str, object] = {}

PROFILE = """\
apiVersion: pytest-dra.dev/v1alpha1
kind: DriverProfile
driver: {name: gpu.example.com}
"""

MANIFESTS = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: drivers}
spec:
  template:
    spec:
      containers:
        - name: plugin
          image: registry.example/driver:1
          volumeMounts: [{name: registry, mountPath: /var/lib/kubelet/plugins_registry}]
      volumes: [{name: registry, hostPath: {path: /var/lib/kubelet/plugins_registry}}]
"""


@pytest.fixture
def programs(tmp_path: Path) -> Mapping[str, str]:
    """Options that name a kind and an engine which nobody may call yet."""
    refuse = "sys.exit(9)"
    return {
        "dra_cluster": "kind",
        "dra_kind": Stub(tmp_path, "kind", refuse).program,
        "dra_engine": Stub(tmp_path, "docker", refuse).program,
    }


def planned(options: Mapping[str, str]) -> Plan:
    _, plan = plan_of(resolve(flag=options.get, ini=NOTHING.get, environ={}))
    return plan


def test_the_fake_driver_comes_with_the_manifests_of_its_fault_and_an_image_to_build(
    programs: Mapping[str, str],
) -> None:
    plan = planned({**programs, "dra_driver": "fake --fault=LIFE-001"})
    assert plan.live is not None
    assert plan.live.build is not None
    (image,) = plan.live.images
    assert image.startswith("localhost/pytest-dra/dra-fake-driver:")
    plugin = plan.live.objects[-1]
    (container,) = plugin["spec"]["template"]["spec"]["containers"]
    assert container["image"] == image
    assert container["args"] == ["--fault=LIFE-001"]
    assert plan.driver_name == "fake.dra.example"


def test_a_release_names_node_image_and_version(programs: Mapping[str, str]) -> None:
    plan = planned({**programs, "dra_driver": "fake", "dra_kind_image": "1.34.4"})
    assert plan.kubernetes == "1.34"


def test_an_image_comes_with_its_manifests(programs: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROFILE)
    (tmp_path / "m.yaml").write_text(MANIFESTS)
    plan = planned(
        {
            **programs,
            "dra_driver": "localhost/driver:test",
            "dra_profile": str(tmp_path / "p.yaml"),
            "dra_manifests": str(tmp_path / "m.yaml"),
        }
    )
    assert plan.live is not None
    assert plan.live.images == ("localhost/driver:test",)
    assert plan.live.build is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dra_driver": "driver:1"}, "--dra-cluster=kind: the driver's name is needed"),
        (
            {"dra_driver": "driver:1 {kubeconfig}", "dra_driver_name": "gpu.example.com"},
            "--dra-driver=driver:1 {kubeconfig}: in a pod: placeholder {kubeconfig} in",
        ),
        (
            {"dra_driver": "fake", "dra_kind": "/no/kind"},
            "--dra-cluster=kind: no '/no/kind' on PATH",
        ),
        (
            {"dra_driver": "fake", "dra_engine": "/no/docker"},
            "--dra-cluster=kind: container engine /no/docker: not found",
        ),
        (
            {"dra_driver": "fake", "dra_kind_nodes": "nine"},
            "--dra-kind-nodes: got 'nine', want a number from 1 to 8",
        ),
        (
            {"dra_driver": "fake", "dra_kind_config": "/no/such/kind.yaml"},
            "--dra-cluster=kind: --dra-kind-config=/no/such/kind.yaml: No such file or directory",
        ),
        ({"dra_driver": "fake 'x"}, "--dra-driver=fake 'x: No closing quotation"),
        ({"dra_driver": "fake", "dra_jail": "true"}, "--dra-jail: on a cluster the driver runs"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_option(
    options: Mapping[str, str], told: str, programs: Mapping[str, str]
) -> None:
    with pytest.raises(OptionError) as caught:
        planned({**programs, **options})
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_an_image_in_a_file_is_none_for_nodes_that_pull() -> None:
    with pytest.raises(ClusterError, match="pull their images: give a name, not a file"):
        _named("./driver.tar", None)
    assert _named("there:1", None) == "there:1"


def arguments_of(items: Sequence[Json]) -> list[tuple[str, list[str]]]:
    """Image and arguments of the only container of each DaemonSet."""
    return [
        (container["image"], container["args"])
        for item in items
        for container in item["spec"]["template"]["spec"]["containers"]
    ]


def test_a_previous_release_is_the_plugin_with_its_image(
    programs: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(PROFILE)
    (tmp_path / "m.yaml").write_text(MANIFESTS)
    plan = planned(
        {
            **programs,
            "dra_driver": "localhost/driver:2 --all",
            "dra_driver_previous": "localhost/driver:1",
            "dra_profile": str(tmp_path / "p.yaml"),
            "dra_manifests": str(tmp_path / "m.yaml"),
        }
    )
    assert plan.live is not None
    assert arguments_of(plan.live.objects) == [("localhost/driver:2", ["--all"])]
    assert arguments_of(plan.live.previous) == [("localhost/driver:1", ["--all"])]
    assert plan.live.images == ("localhost/driver:2", "localhost/driver:1")
    assert plan.profile.declares("UpgradeFrom")


def test_the_fake_driver_plays_its_previous_release_without_its_fault(
    programs: Mapping[str, str],
) -> None:
    plan = planned({**programs, "dra_driver": "fake --fault=RST-011"})
    assert plan.live is not None
    ((image, arguments),) = arguments_of(plan.live.previous)
    assert plan.live.images == (image,)
    assert arguments == ["--fault=RST-011", "--state-version=1", "--fault="]

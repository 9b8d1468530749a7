"""Charts and kustomize directories, by their commands."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_dra.live.rendering import is_rendered
from pytest_dra.live.rendering import rendered
from pytest_dra.live.shipment import ShipmentError
from tests.clusters.stubs import Stub
from tests.clusters.stubs import said

RENDERED = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: a}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: b}
---
apiVersion: own.example.com/v1
kind: Thing
metadata: {name: c}
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart/Chart.yaml").write_text("name: x\n")
    return tmp_path / "chart"


@pytest.fixture
def kustomization(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/kustomization.yaml").write_text("resources: []\n")
    return tmp_path / "site"


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_chart_is_rendered_as_it_would_be_installed(chart: Path, programs: Path) -> None:
    helm = Stub(programs, "helm", said(0, out=RENDERED))
    text = rendered(chart, kubernetes="1.37", values=Path("values.yaml"))
    (argv,) = helm.calls()
    assert argv[:3] == ["template", "pytest-dra", str(chart)]
    assert "--kube-version=1.37.0" in argv
    assert argv[-1] == f"--values={Path.cwd() / 'values.yaml'}"
    namespaces = [
        (each["kind"], each["metadata"].get("namespace")) for each in yaml.safe_load_all(text)
    ]
    assert namespaces == [
        ("Namespace", None),
        ("ServiceAccount", "pytest-dra-driver"),
        ("ClusterRole", None),
        ("Thing", None),
    ]


def test_a_chart_without_helm_is_told_with_what_to_do(chart: Path) -> None:
    with pytest.raises(ShipmentError, match=r"is a Helm chart, and there is no 'helm' on PATH: "):
        rendered(chart, kubernetes="1.37", values=None)


def test_what_helm_complains_about_is_told(chart: Path, programs: Path) -> None:
    Stub(programs, "helm", said(1, err="Error: execution error at line 3\n"))
    with pytest.raises(ShipmentError, match=r"chart cannot be rendered: .* at line 3"):
        rendered(chart, kubernetes="1.37", values=None)


def test_a_kustomization_is_built_by_kustomize_or_kubectl(
    kustomization: Path, programs: Path
) -> None:
    with pytest.raises(ShipmentError, match="neither 'kustomize' nor 'kubectl' is on PATH"):
        rendered(kustomization, kubernetes="1.37", values=None)
    kubectl = Stub(programs, "kubectl", said(0, out=RENDERED))
    assert rendered(kustomization, kubernetes="1.37", values=None) == RENDERED
    assert kubectl.calls() == [["kustomize", str(kustomization)]]
    with pytest.raises(ShipmentError, match="is no Helm chart; leave it out"):
        rendered(kustomization, kubernetes="1.37", values=Path("v"))


def test_folders_and_files_of_yaml_are_as_they_are(
    chart: Path, kustomization: Path, tmp_path: Path
) -> None:
    assert is_rendered(chart)
    assert is_rendered(kustomization)
    assert not is_rendered(tmp_path)
    assert not is_rendered(tmp_path / "x.yaml")

"""``dra-cel eval --kubeconfig`` against a running API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.commands.cel import run
from tests.clusters.started import started

GPU = 'device.attributes["gpu.example.com"]'


def resource_slice(node: str, model: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-slice"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": "gpu-0",
                    "attributes": {"model": {"string": model}, "driver": {"version": "1.3.0"}},
                    "capacity": {"memory": {"value": "80Gi"}},
                }
            ],
        },
    }


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with started() as made:
        yield made


@pytest.fixture
def kubeconfig(cluster: EmbeddedCluster) -> str:
    return str(cluster.admin_kubeconfig())


def fill(cluster: EmbeddedCluster, *models: str) -> None:
    for number, model in enumerate(models):
        cluster.admin().create(RESOURCE_SLICES, resource_slice(f"node-{number}", model))


def test_the_devices_of_a_cluster(
    cluster: EmbeddedCluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(cluster, "A100", "H100")
    text = (
        f'{GPU}.model == "A100" && {GPU}.driver.isGreaterThan(semver("1.2.3")) && '
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0'
    )
    assert run(["eval", text, "--kubeconfig", kubeconfig]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["DEVICE", "RESULT"],
        ["gpu.example.com/node-0/gpu-0", "true"],
        ["gpu.example.com/node-1/gpu-0", "false"],
    ]
    assert run(["eval", f"{GPU}.nope", "--kubeconfig", kubeconfig]) == 2
    assert "no such key: nope" in capsys.readouterr().out


def test_the_variable_names_the_kubeconfig(
    cluster: EmbeddedCluster, kubeconfig: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cluster, "A100")
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    assert run(["eval", "true", "--kubeconfig"]) == 0


def test_a_cluster_without_slices_has_no_match(kubeconfig: str) -> None:
    assert run(["eval", "true", "--kubeconfig", kubeconfig]) == 1


def test_a_context_that_does_not_exist_is_told(
    kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "true", "--kubeconfig", kubeconfig, "--context", "nope"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("dra-cel: ")
    assert "nope" in shown


def test_a_cluster_that_does_not_answer_is_told(
    cluster: EmbeddedCluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.stop()
    assert run(["eval", "true", "--kubeconfig", kubeconfig]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("dra-cel: ")
    assert len(shown.splitlines()) == 1


def test_a_kubeconfig_that_is_none_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in (None, "", "- 1", "[", "clusters: 1"):
        file = tmp_path / "config"
        if text is not None:
            file.write_text(text)
        assert run(["eval", "true", "--kubeconfig", str(file)]) == 2
        shown = capsys.readouterr().err
        assert shown.startswith("dra-cel: ")
        assert len(shown.splitlines()) == 1

"""The objects of a cluster, asked through a kubeconfig."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_dra.api.resources import DEVICE_CLASSES
from pytest_dra.api.resources import NODES
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.commands.check import run
from tests.clusters.started import started
from tests.objects.sample import claim
from tests.objects.sample import device_class
from tests.objects.sample import resource_slice
from tests.plugin.conftest import QUICK


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedCluster]:
    with started() as made:
        monkeypatch.setenv("KUBECONFIG", str(made.admin_kubeconfig()))
        yield made


def fill(cluster: EmbeddedCluster) -> None:
    client = cluster.admin()
    made = client.create(NODES, {"metadata": {"name": "node-b"}})
    good = resource_slice("node-b-gpu", "node-b")
    good["metadata"]["ownerReferences"][0]["uid"] = made["metadata"]["uid"]
    client.create(RESOURCE_SLICES, good)
    client.create(DEVICE_CLASSES, device_class())
    client.create(RESOURCE_CLAIMS, claim(), namespace="default")


def test_what_a_server_holds_is_right(
    cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(cluster)
    assert run(["kubeconfig"]) == 0
    out = capsys.readouterr().out
    assert out == "3 objects of resource.k8s.io, Kubernetes 1.37: 0 errors, 0 warnings, 0 notes\n"


def test_stumbling_blocks_in_a_cluster_are_found(
    cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(cluster)
    cluster.admin().create(DEVICE_CLASSES, device_class("any", "true"))
    wrong = resource_slice("again", "node-b")
    cluster.admin().create(RESOURCE_SLICES, wrong)
    assert run(["kubeconfig"]) == 1
    found = {line.rsplit("[", 1)[-1] for line in capsys.readouterr().out.splitlines()[:-1]}
    assert found == {"ATTR-009]", "SLICE-004]", "SLICE-005]", "SLICE-007]"}


def test_pytest_judges_a_cluster_as_well(
    cluster: EmbeddedCluster, pytester: pytest.Pytester
) -> None:
    fill(cluster)
    done = pytester.runpytest_inprocess(*QUICK, "--dra-objects=kubeconfig")
    assert done.ret is pytest.ExitCode.OK
    done.stdout.fnmatch_lines(["verdict: conformant (STATIC at static depth*"])


def test_a_cluster_that_cannot_be_asked_is_told(
    cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["kubeconfig", "--context", "nope"]) == 2
    assert "nope" in capsys.readouterr().err
    cluster.stop()
    assert run(["kubeconfig"]) == 2
    assert capsys.readouterr().err.startswith("dra-check: kubeconfig: ")

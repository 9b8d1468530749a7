"""URL paths and version profiles."""

from __future__ import annotations

import pytest

from pytest_dra.api import resources
from pytest_dra.api.versions import kubernetes_version
from pytest_dra.api.versions import nearest_version


def test_paths_of_core_and_group_resources() -> None:
    assert resources.NODES.path(name="n1") == "/api/v1/nodes/n1"
    assert resources.RESOURCE_SLICES.path() == "/apis/resource.k8s.io/v1/resourceslices"
    assert (
        resources.RESOURCE_CLAIMS.path("ns", "c", "status")
        == "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c/status"
    )
    assert resources.RESOURCE_CLAIMS.path() == "/apis/resource.k8s.io/v1/resourceclaims"


def test_impossible_paths_are_refused() -> None:
    with pytest.raises(ValueError, match="cluster-scoped"):
        resources.NODES.path("ns")
    with pytest.raises(ValueError, match="namespace is needed"):
        resources.PODS.path(name="p")
    with pytest.raises(ValueError, match="needs a name"):
        resources.PODS.path("ns", subresource="status")


def test_gates_and_limits_differ_by_version() -> None:
    old, new = kubernetes_version("1.34"), kubernetes_version("v1.37.2")
    assert not old.enabled("DRADeviceTaints")
    assert new.enabled("DRADeviceTaints")
    assert (old.limits.taints, new.limits.taints) == (4, 16)
    assert resources.DEVICE_TAINT_RULES in new.served
    assert resources.DEVICE_TAINT_RULES not in old.served


def test_a_gate_that_the_version_lacks_is_refused() -> None:
    old = kubernetes_version("1.34")
    assert old.with_gates({"DRADeviceTaints": True}).enabled("DRADeviceTaints")
    with pytest.raises(ValueError, match="no feature gate DRADerivedAttributes"):
        old.with_gates({"DRADerivedAttributes": True})


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.99"):
        kubernetes_version("1.99")


@pytest.mark.parametrize(
    ("server", "taken"),
    [
        ("v1.36.4", "1.36"),
        ("v1.34.4+k3s1", "1.34"),
        ("v1.99.0-alpha.1", "1.37"),
        ("v1.20.1", "1.34"),
    ],
)
def test_a_server_is_taken_as_its_version_or_the_next_that_is_known(
    server: str, taken: str
) -> None:
    assert nearest_version(server).name == taken


def test_what_is_no_version_of_a_server_is_refused() -> None:
    with pytest.raises(ValueError, match=r"''.*want one like v1"):
        nearest_version("")

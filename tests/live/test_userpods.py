"""Pods of users on a whole cluster; the tests play kubelet and scheduler."""

from __future__ import annotations

import pytest

from pytest_dra.api import resources
from pytest_dra.bench.allocating import Allocator
from pytest_dra.bench.userclaims import UserClaims
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.userpods import UserPods


class Asked(Allocator):
    """What gives devices to pods: nobody does."""

    def __init__(self) -> None:
        """It needs no cluster."""

    def explain(self, namespace: str, pod: str) -> str:
        return f"pod {namespace}/{pod} waits"


@pytest.fixture
def claims(client: Client, namespace: str) -> UserClaims:
    return UserClaims(
        client, namespace, driver="gpu.example.com", metadata={"labels": {"run": "aa"}}
    )


def test_claims_ask_for_devices_of_the_driver_by_a_class_that_goes_with_them(
    client: Client, claims: UserClaims
) -> None:
    with claims:
        name = claims(2, "true")
        (request,) = claims.read(name)["spec"]["devices"]["requests"]
        assert request["exactly"]["count"] == 2
        assert request["exactly"]["selectors"] == [{"cel": {"expression": "true"}}]
        found = client.get(resources.DEVICE_CLASSES, request["exactly"]["deviceClassName"])
        assert found["metadata"]["labels"] == {"run": "aa"}
        expression = found["spec"]["selectors"][0]["cel"]["expression"]
        assert expression == 'device.driver == "gpu.example.com"'
    with pytest.raises(KubeError, match="not found"):
        client.get(resources.DEVICE_CLASSES, found["metadata"]["name"])


def test_a_pod_that_does_not_run_says_why_and_goes_at_the_end(
    client: Client, claims: UserClaims
) -> None:
    with claims, UserPods(client, claims, Asked(), image="pod:1") as pods:
        pod = pods(wait=False)
        assert pod.phase == "Pending"
        assert pod.node == ""
        assert pod.read()["spec"]["containers"][0]["image"] == "pod:1"
        with pytest.raises(AssertionError, match=rf"does not run .*\n.*{pod.name} waits"):
            pod.wait_running(within_s=0.1)
    assert pod.phase == ""

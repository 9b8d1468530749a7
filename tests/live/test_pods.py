"""Pods of a case: waited for, told of, nudged and removed."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.api import resources
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.live import pods as module
from pytest_dra.live.asking import CLAIM
from pytest_dra.live.asking import Use
from pytest_dra.live.asking import pod_spec
from pytest_dra.live.pods import Pod
from pytest_dra.live.pods import Pods
from pytest_dra.profile.model import Budgets
from pytest_dra.spec import Violation
from tests.live.conftest import BUDGETS
from tests.live.conftest import container_status


@pytest.fixture
def pods(client: Client, namespace: str) -> Pods:
    return Pods(client, namespace, BUDGETS)


def made(pods: Pods, name: str = "p") -> Pod:
    uses = [Use(claims=((CLAIM, None),))]
    spec = pod_spec(image="busybox", node="n", uses=uses, claims={CLAIM: "c"})
    return pods.create(name, spec)


def play(client: Client, pod: Pod, phase: str, **state: Any) -> None:
    """Say what a kubelet would say."""
    status = {"phase": phase, "containerStatuses": [container_status("main", **state)]}
    client.patch(
        resources.PODS, pod.name, {"status": status}, namespace=pod.namespace, subresource="status"
    )


def warn(client: Client, pod: Pod, message: str) -> None:
    """Warn of a pod, as a kubelet does."""
    client.create(
        resources.EVENTS,
        {
            "metadata": {"name": "e", "namespace": pod.namespace},
            "involvedObject": {"kind": "Pod", "namespace": pod.namespace, "uid": pod.uid},
            "type": "Warning",
            "reason": "FailedPrepareDynamicResources",
            "message": message,
        },
        namespace=pod.namespace,
    )


def test_a_pod_runs_once_all_its_containers_do(client: Client, pods: Pods) -> None:
    pod = made(pods)
    assert not pods.runs_within(pod, 0)
    play(client, pod, "Running", running={"startedAt": "2026-01-01T00:00:00Z"})
    assert pods.must_run(pod)["status"]["phase"] == "Running"
    assert pods.containers(pod) == [("main", "x://main", 0)]


def test_what_a_pod_waits_for_is_told_in_the_words_of_the_cluster(
    client: Client, pods: Pods
) -> None:
    pod = made(pods)
    play(client, pod, "Pending", waiting={"reason": "ContainerCreating"})
    warn(client, pod, "in use")
    with pytest.raises(Violation) as caught:
        pods.must_run(pod, want="with a device")
    assert caught.value.where == f"pod {pod.namespace}/p"
    assert caught.value.got == (
        "Pending; FailedPrepareDynamicResources: in use; container main ContainerCreating"
    )
    assert caught.value.want == "all containers running within 0.5 s, with a device"


def test_an_image_that_cannot_be_had_is_not_the_drivers(client: Client, pods: Pods) -> None:
    pod = made(pods)
    play(client, pod, "Pending", waiting={"reason": "ErrImagePull"})
    wanted = r"ErrImagePull: the node has no image busybox .* --dra-pod-image"
    with pytest.raises(ClusterError, match=wanted):
        pods.must_run(pod)


def test_a_full_disk_is_not_the_drivers(client: Client, pods: Pods) -> None:
    pod = made(pods)
    warn(client, pod, "1 node(s) had untolerated taint(s) {node.kubernetes.io/disk-pressure: }.")
    with pytest.raises(ClusterError, match="What to do: the disk is full"):
        pods.must_run(pod)


def test_an_evicted_pod_is_not_waited_for(client: Client, namespace: str) -> None:
    pods = Pods(client, namespace, Budgets(pod=600.0, release=0.5))
    pod = made(pods)
    status = {"phase": "Failed", "reason": "Evicted"}
    status["message"] = "Pod was rejected: The node had condition: [DiskPressure]. "
    client.patch(
        resources.PODS, pod.name, {"status": status}, namespace=namespace, subresource="status"
    )
    with pytest.raises(ClusterError, match=r"Evicted: .* \[DiskPressure\]\. What to do: the disk"):
        pods.must_run(pod)


def test_a_pod_that_waits_is_nudged(
    client: Client, pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NUDGE_S", 0.0)
    pod = made(pods)
    with pytest.raises(Violation):
        pods.must_run(pod)
    state = pods.state(pod) or {}
    assert module.NUDGED in state["metadata"]["annotations"]


def test_another_pod_of_the_same_name_is_not_the_one_that_was_made(
    client: Client, pods: Pods
) -> None:
    pod = made(pods)
    client.delete(resources.PODS, pod.name, namespace=pod.namespace)
    assert pods.state(pod) is None
    pods.must_go(pod)
    other = made(pods)
    assert pods.state(pod) is None
    assert pods.state(other) is not None


def test_what_is_left_of_a_case_goes_by_force_at_last(client: Client, pods: Pods) -> None:
    pod = made(pods)
    client.patch(
        resources.PODS,
        pod.name,
        {"metadata": {"finalizers": ["example.com/stay"]}},
        namespace=pod.namespace,
    )
    with pytest.raises(Violation, match="gone within"):
        pods.end(pod)
    assert pods.clear() == [str(pod)]
    client.patch(
        resources.PODS, pod.name, {"metadata": {"finalizers": None}}, namespace=pod.namespace
    )

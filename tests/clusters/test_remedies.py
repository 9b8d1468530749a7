"""What to do is told for what kind 0.33, Docker 20 and 28, kubeadm and kubelets 1.37 really say.

``said`` has what nodes say that do not come up: on a machine with cgroup v1, and with an inotify
that gives the kubelet, containerd or systemd nothing, as the kernel does at its limits.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dra.clusters import remedies
from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.remedies import OF_MACHINE
from pytest_dra.clusters.remedies import remedied
from pytest_dra.clusters.remedies import remedy_for
from pytest_dra.launch.tool import ToolError
from tests.clusters.stubs import Stub
from tests.clusters.stubs import said

EXTERNAL = (
    "docker: Error response from daemon: driver failed programming external connectivity on "
    "endpoint dra-control-plane (f2cf0f0d8e59): "
)

LOGS = Path(__file__).with_name("said")

SAID = {
    "a program listens on a port": (
        f"{EXTERNAL}Error starting userland proxy: listen tcp4 0.0.0.0:18099: bind: address "
        "already in use\n\nRun 'docker run --help' for more information",
        "port 18099 is taken: end who has it",
    ),
    "a container has a port": (
        f"{EXTERNAL}Bind for 0.0.0.0:18098 failed: port is already allocated\n",
        "port 18098 is taken: end who has it",
    ),
    "a node image that cannot be pulled": (
        'ERROR: failed to create cluster: failed to pull image "kindest/node:v9.99": command '
        '"docker pull kindest/node:v9.99" failed with error: exit status 1\n\nCommand Output: '
        'Error response from daemon: Get "https://registry-1.docker.io/v2/": dial tcp: lookup '
        "registry-1.docker.io on 192.0.2.53:53: no such host",
        "image kindest/node:v9.99 is neither in the local engine nor can it be pulled",
    ),
    "an image that is loaded and not there": (
        'ERROR: image: "Nothere:1" not present locally',
        "image Nothere:1 is neither in the local engine",
    ),
    "a container of an image that is not there": (
        "Unable to find image 'local/nothere:1' locally\ndocker: Error response from daemon: Get",
        "image local/nothere:1 is neither",
    ),
    "an image that is no node": (
        "Command Output: docker: Error response from daemon: No command specified\n",
        "this is no node image of kind",
    ),
    "an archive on a full disk": (
        'ERROR: command "docker save -o /tmp/images-tar92273033/images.tar local/python:3.11" '
        "failed with error: exit status 1\n\nCommand Output: write "
        "/tmp/images-tar92273033/.tmp-images.tar3324895010: no space left on device",
        "the disk is full",
    ),
    "a kind that is too old": (
        'error: your configuration file uses an old API spec: "kubeadm.k8s.io/v1beta3" (kind: '
        '"ClusterConfiguration"). Please use kubeadm v1.36 instead and run',
        "this kind is too old for the Kubernetes of its node image, which reads no "
        "kubeadm.k8s.io/v1beta3 any more",
    ),
    "a port of the API server that a program has": (
        "docker: Error response from daemon: driver failed programming external connectivity on "
        "endpoint dra-control-plane (1d6995fe2019): Error starting userland proxy: listen tcp4 "
        "127.0.0.1:18977: bind: address already in use\n\nRun 'docker run --help' for more",
        "port 18977 is taken: end who has it ('ss -ltnp' tells), or name another one in "
        "--dra-kind-config (extraPortMappings, or networking.apiServerPort)",
    ),
    "a node with a full disk": (
        'ctr: failed to ingest "e986c4dfb5ad/layer.tar": failed to copy: write /var/lib/containerd/'
        "io.containerd.content.v1.content/ingest/fbc4002bb167/data: no space left on device",
        "the disk is full",
    ),
    "a containerd without watches": (
        "failed to create cni conf monitor for default: failed to watch cni conf dir "
        "/etc/cni/net.d: no space left on device",
        "raise the limits of inotify: sysctl -w",
    ),
    "kind's own image that cannot be pulled": (
        'ERROR: failed to create cluster: failed to pull image "kindest/node:v1.37.0@sha256:a1ed5'
        '6cf": command "docker pull kindest/node:v1.37.0@sha256:a1ed56cf" failed with error: exit',
        "image kindest/node:v1.37.0@sha256:a1ed56cf is neither in the local engine",
    ),
    "a cluster of the name": (
        'ERROR: failed to create cluster: node(s) already exist for a cluster with the name "c-1"',
        "--dra-reuse=c-1 uses it",
    ),
    "an engine that does not run": (
        'ERROR: failed to list clusters: command "docker ps -a" failed with error: exit status 1'
        "\n\nCommand Output: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. "
        "Is the docker daemon running?",
        "the engine does not run, or listens elsewhere than at unix:///var/run/docker.sock",
    ),
    "an engine that this user may not use": (
        "permission denied while trying to connect to the Docker daemon socket at "
        'unix:///var/run/docker.sock: Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/info": dial '
        "unix /var/run/docker.sock: connect: permission denied",
        "this user may not use the engine",
    ),
    "a Podman on a machine without CAP_SYS_RESOURCE": (
        "Error: crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied",
        "this machine lets nobody raise the limit RLIMIT_NOFILE",
    ),
    "crun on a machine with both versions of cgroups": (
        "Error: OCI runtime error: crun: cgroups in hybrid mode not supported, drop all "
        "controllers from cgroupv2",
        'install runc, and name it in Podman\'s containers.conf: [engine] runtime = "runc"',
    ),
}
"""Texts, shortened, and how what to do begins or what stands in it."""


@pytest.mark.parametrize("case", SAID)
def test_what_to_do_is_known_for(case: str) -> None:
    text, wanted = SAID[case]
    assert wanted in remedy_for(text)
    error = remedied(ToolError("kind create cluster failed with status 1", code=1, said=text))
    assert str(error).startswith("kind create cluster failed with status 1. What to do: ")


def test_trouble_that_nobody_knows_is_told_as_it_is() -> None:
    assert remedy_for("the moon is full") == ""
    assert str(remedied(ToolError("it failed", said="the moon is full"))) == "it failed"


def test_the_limits_are_told_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remedies, "LIMITS", tmp_path)
    enough = "fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
    assert remedies.limits() == enough
    (tmp_path / "max_user_instances").write_text("128\n", "ascii")
    assert remedies.limits() == f"{enough} (max_user_instances 128 now)"
    (tmp_path / "max_user_instances").write_text("1024\n", "ascii")
    assert remedies.limits().startswith("fs.inotify.max_user_instances=2048 fs.inotify.max_user_w")


NOT_UP = (
    "error: error execution phase wait-control-plane: cannot obtain client without bootstrap: "
    "could not bootstrap the admin user in file admin.conf: unable to create "
    "ClusterRoleBinding: client rate limiter Wait returned an error: rate: Wait(n=1) would exceed "
    "context deadline"
)
ENDED = "Command Output: Error response from daemon: Container 9a873ed8b6e3 is not running"
ENDED_LATER = "OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown"


@pytest.mark.parametrize(
    ("text", "file", "wanted"),
    [
        (NOT_UP, "kubelet-cgroup-v1.log", "this machine has cgroup v1, on which this kubelet"),
        (NOT_UP, "kubelet-instances.log", "raise the limits of inotify: sysctl -w"),
        (NOT_UP, "kubelet-watches.log", "raise the limits of inotify: sysctl -w"),
        (NOT_UP, "containerd-instances.log", "raise the limits of inotify: sysctl -w"),
        (NOT_UP, "containerd-watches.log", "raise the limits of inotify: sysctl -w"),
        (ENDED, "console-instances.log", "raise the limits of inotify: sysctl -w"),
        (NOT_UP, "", "the control plane has not come up: why stands"),
        (ENDED, "", "the node's systemd has not come up, mostly for want of inotify"),
        (ENDED_LATER, "", "the node's systemd has not come up, mostly for want of inotify"),
    ],
)
def test_why_a_node_has_not_come_up_is_told_by_its_logs(text: str, file: str, wanted: str) -> None:
    logs = (LOGS / file).read_text("utf-8") if file else ""
    error = remedied(ToolError(text, code=1, said=text), logs=logs)
    assert str(error).startswith(f"{text}. What to do: {wanted}")
    assert error.logs == logs


def test_what_the_command_itself_says_comes_first() -> None:
    text, wanted = SAID["a container has a port"]
    logs = (LOGS / "kubelet-instances.log").read_text("utf-8")
    assert wanted in str(remedied(ToolError(text, said=text), logs=logs))


@pytest.mark.parametrize(
    ("trouble", "wanted"),
    [
        (
            "Pending; FailedScheduling: 0/1 nodes are available: 1 node(s) had untolerated "
            "taint(s) {node.kubernetes.io/disk-pressure: }.",
            "the disk is full",
        ),
        ("Failed; The node was low on resource: ephemeral-storage.", "the disk is full"),
        ("Evicted: The node had condition: [DiskPressure]. ", "the disk is full"),
        ("Evicted: The node had condition: [MemoryPressure]. ", "short of memory or processes"),
        ("Evicted: The node was low on resource: memory. Threshold", "short of memory or"),
        ("untolerated taint(s) {node.kubernetes.io/pid-pressure: }.", "short of memory or"),
        ("Pending; FailedCreatePodSandBox: inotify_init: too many open files", "sysctl -w"),
        ("Pending; FailedPrepareDynamicResources: device in use", ""),
        ("Pending; listen tcp 0.0.0.0:80: bind: address already in use", ""),
    ],
)
def test_trouble_of_a_machine_is_told_from_that_of_a_driver(trouble: str, wanted: str) -> None:
    remedy = remedy_for(trouble, OF_MACHINE)
    assert wanted in remedy
    assert bool(remedy) == bool(wanted)


def test_an_engine_says_why_it_does_not_answer(tmp_path: Path) -> None:
    text, wanted = SAID["an engine that this user may not use"]
    stub = Stub(tmp_path, "docker", said(1, err=f"WARNING: Error loading config file\n{text}\n"))
    with pytest.raises(ClusterError) as caught:
        Engine(stub.program).must_answer()
    assert str(caught.value).startswith("docker does not answer: permission denied while trying")
    assert wanted in str(caught.value)

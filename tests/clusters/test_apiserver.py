"""The real API server as a cluster: identities, rights, what the timeline says, its end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from pytest_dra.api.resources import DEVICE_CLASSES
from pytest_dra.api.resources import NODES
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.api.resources import Resource
from pytest_dra.clusters.apiserver import ApiServerCluster
from pytest_dra.clusters.binaries import Binaries
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False)
WITHIN_S = 20.0


def slice_of(node: str, name: str) -> Json:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "d0", "attributes": {"a": {"string": "x"}}}]
    spec = {"driver": "d.example.com", "pool": pool, "nodeName": node, "devices": devices}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.fixture
def driver(cluster: ApiServerCluster, tmp_path: Path) -> Iterator[Client]:
    cluster.driver_kubeconfig(tmp_path / "kubeconfig", instance="one", node="node-a")
    client = Client(tmp_path / "kubeconfig")
    yield client
    client.close()


def test_the_server_sees_each_identity_as_it_is(cluster: ApiServerCluster, driver: Client) -> None:
    def user(client: Client) -> Json:
        found: Json = client.create(REVIEWS, {})["status"]["userInfo"]
        return found

    assert user(cluster.admin())["username"] == "pytest-dra"
    assert user(cluster.kubelet("node-a"))["username"] == "system:node:node-a"
    seen = user(driver)
    assert seen["username"] == "system:serviceaccount:dra-driver:one"
    assert "system:serviceaccounts:dra-driver" in seen["groups"]
    assert seen["extra"] == {"authentication.kubernetes.io/node-name": ["node-a"]}


def test_a_kubelet_deletes_its_own_slices_and_no_others(
    cluster: ApiServerCluster, driver: Client
) -> None:
    cluster.admin().create(NODES, {"metadata": {"name": "node-a"}})
    for node in ("node-a", "node-b"):
        driver.create(RESOURCE_SLICES, slice_of(node, f"s-{node}"))
    kubelet = cluster.kubelet("node-a")
    with pytest.raises(KubeError) as caught:
        kubelet.delete_collection(RESOURCE_SLICES, field_selector="spec.nodeName=node-b")
    assert caught.value.code == 403
    kubelet.delete_collection(RESOURCE_SLICES, field_selector="spec.nodeName=node-a")
    left = {each["metadata"]["name"] for each in cluster.admin().list(RESOURCE_SLICES)}
    assert left == {"s-node-b"}
    cluster.admin().delete(RESOURCE_SLICES, "s-node-b")


def test_requests_stand_on_the_timeline_as_they_were_sent(
    cluster: ApiServerCluster, timeline: Timeline, driver: Client
) -> None:
    since = len(timeline)
    body = slice_of("node-a", "sent")
    body["spec"]["devices"][0]["skipNodeOperations"] = ["*"]
    made = driver.create(RESOURCE_SLICES, body)
    driver.delete(RESOURCE_SLICES, "sent")
    first, last = (each.event for each in timeline.entries(ApiRequest, since=since))
    assert (first.identity, first.verb, first.resource, first.code) == (
        "system:serviceaccount:dra-driver:one",
        "create",
        "resourceslices",
        201,
    )
    assert first.body == {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **body}
    assert first.answer == made
    assert "skipNodeOperations" not in made["spec"]["devices"][0]
    assert (last.verb, last.name, last.code) == ("delete", "sent", 200)


def test_a_watch_goes_through_and_stands_there_once(
    cluster: ApiServerCluster, timeline: Timeline
) -> None:
    config = yaml.safe_load(cluster.admin_kubeconfig().read_text("utf-8"))
    server = urlsplit(config["clusters"][0]["cluster"]["server"])
    since = len(timeline)
    link = http.client.HTTPConnection(server.netloc, timeout=WITHIN_S)
    try:
        path = DEVICE_CLASSES.path()
        link.request("GET", f"{server.path}{path}?watch=1&timeoutSeconds=20")
        answer = link.getresponse()
        cluster.admin().create(DEVICE_CLASSES, {"metadata": {"name": "seen"}, "spec": {}})
        event = json.loads(answer.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "seen")
    finally:
        link.close()
    cluster.admin().delete(DEVICE_CLASSES, "seen")
    verbs = [each.event.verb for each in timeline.entries(ApiRequest, since=since)]
    assert verbs == ["watch", "create", "delete"]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (b"/as/unknown/api/v1/nodes", b"401"),
        (b"/api/v1/nodes", b"403"),
        (b"@127.0.0.1:1/", b"400"),
        (b"http://127.0.0.1:1/", b"400"),
    ],
)
def test_whoever_has_no_token_gets_nothing(
    cluster: ApiServerCluster, target: bytes, code: bytes
) -> None:
    host, _, port = cluster.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=WITHIN_S) as link:
        link.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert link.recv(64).split()[1] == code


def test_it_makes_no_trouble_and_has_logs(cluster: ApiServerCluster) -> None:
    assert cluster.trouble() is None
    assert "kube-apiserver" in cluster.logs()
    assert cluster.logs()["kube-apiserver"]


def test_an_older_version_is_emulated_also_below_a_long_path(
    binaries: Binaries, tmp_path: Path, timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    older = f"1.{binaries.minor - 1}"
    made = ApiServerCluster(tmp_path, kubernetes=older, timeline=timeline, binaries=binaries)
    made.start()
    try:
        assert made.version.name == older
        assert made.admin().list(NODES) == []
        directory = made.plane.directory
        assert directory.is_dir()
    finally:
        made.stop()
    assert not directory.exists()
    made.stop()


def test_a_server_that_does_not_start_says_why_and_leaves_nothing(
    binaries: Binaries, tmp_path: Path, timeline: Timeline
) -> None:
    program = tmp_path / "kube-apiserver"
    program.write_text("#!/bin/sh\necho 'no such flag'; exit 3\n")
    program.chmod(0o755)
    broken = Binaries(etcd=binaries.etcd, kube_apiserver=program, version=binaries.version)
    name = f"1.{binaries.minor}"
    made = ApiServerCluster(tmp_path, kubernetes=name, timeline=timeline, binaries=broken)
    with pytest.raises(ClusterError, match=r"kube-apiserver has ended, code 3(.|\n)*no such flag"):
        made.start()
    assert not made.plane.directory.exists()


KILLED = """
import os, sys
from pathlib import Path
from pytest_dra.clusters.apiserver import ApiServerCluster
from pytest_dra.clusters.binaries import find_binaries
from pytest_dra.timeline import Timeline

found = find_binaries()
cluster = ApiServerCluster(
    Path(sys.argv[1]), kubernetes=f"1.{found.minor}", timeline=Timeline(), binaries=found
)
cluster.start()
pids = [str(each.pid) for each in cluster.plane._processes.values()]
sys.stdout.write(" ".join([str(cluster.plane.directory), *pids]) + "\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def test_nothing_is_left_where_pytest_is_killed(binaries: Binaries, tmp_path: Path) -> None:
    del binaries
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        directory, *pids = process.stdout.readline().split()
        assert len(pids) == 2
        process.send_signal(signal.SIGKILL)
        process.wait(WITHIN_S)
    gone = poll(lambda: not any(map(alive, pids)), Deadline.after(WITHIN_S))
    assert gone
    assert poll(lambda: not Path(directory).exists(), Deadline.after(WITHIN_S))


def alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True

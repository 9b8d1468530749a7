"""The driver as a process of its own: its call, its start, its end, against the embedded server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from pytest_dra import wire
from pytest_dra.api.resources import NODES
from pytest_dra.api.resources import RESOURCE_CLAIMS
from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.embedded import write_kubeconfig
from pytest_dra.fake_driver import faults
from pytest_dra.kube import Client
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

LIMIT_S = 20.0
DRIVER = "fake.dra.example"
NODE = "node-a"
ADMIN = User("admin", ("system:masters",))


class Node:
    """Directories of a node and an API server that knows it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.server = ApiServer(timeline=Timeline(), tokens={"t": ADMIN})
        self.server.start()
        self.kubeconfig = root / "kubeconfig"
        write_kubeconfig(self.kubeconfig, server=self.server.url, token="t")
        self.client = Client(self.kubeconfig)
        self.client.create(NODES, {"metadata": {"name": NODE}})
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the driver and wait for its registration socket."""
        process = popen(
            f"--kubeconfig={self.kubeconfig}",
            f"--node-name={NODE}",
            f"--registry-dir={self.root / 'r'}",
            f"--plugins-dir={self.root / 'p'}",
            f"--cdi-root={self.root / 'c'}",
            *arguments,
        )
        self.processes.append(process)
        assert poll(lambda: self.socket.exists() or process.poll(), Deadline.after(LIMIT_S))
        return process

    @property
    def socket(self) -> Path:
        return self.root / "r" / f"{DRIVER}-reg.sock"

    def slices(self) -> list[Any]:
        return self.client.list(RESOURCE_SLICES, field_selector=f"spec.driver={DRIVER}")

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate(timeout=LIMIT_S)
        self.client.close()
        self.server.stop()


def popen(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Run the driver with nothing of our environment but what it needs to be found."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest_dra.fake_driver", *arguments],
        env={**kept, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run the driver to its end: exit code and output."""
    process = popen(*arguments, **environment)
    output, errors = process.communicate(timeout=LIMIT_S)
    return process.returncode, output, errors


@pytest.fixture(name="node")
def _node() -> Iterator[Node]:
    root = Path(tempfile.mkdtemp(prefix="dra-", dir="/tmp"))
    node = Node(root)
    try:
        yield node
    finally:
        node.close()
        shutil.rmtree(root, ignore_errors=True)


def call(path: Path, method: wire.Method, **fields: Any) -> Any:
    with grpc.insecure_channel(f"unix:{path}") as channel:
        stub = channel.unary_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        return stub(method.request(**fields), timeout=LIMIT_S)


def test_it_registers_publishes_prepares_and_ends_cleanly(node: Node) -> None:
    process = node.start()
    info = call(node.socket, wire.GET_INFO)
    assert (info.type, info.name) == ("DRAPlugin", DRIVER)
    assert list(info.supported_versions) == list(wire.DRA_API_NAMES)
    assert poll(node.slices, Deadline.after(LIMIT_S))
    published = node.slices()[0]
    assert len(published["spec"]["devices"]) == 14
    assert published["metadata"]["ownerReferences"][0]["name"] == NODE
    claim = prepared_claim(node)
    methods = wire.DRA_METHODS["v1.DRAPlugin"]
    request = [methods.claim(namespace="default", name="c", uid=claim)]
    answer = call(Path(info.endpoint), methods.prepare, claims=request).claims[claim]
    assert answer.error == ""
    assert len(list((node.root / "c").iterdir())) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == 0
    assert not node.socket.exists()
    assert not Path(info.endpoint).exists()
    assert node.slices() == [published]


def prepared_claim(node: Node) -> str:
    """Create a claim and allocate gpu-0 to it; its UID."""
    exactly = {"deviceClassName": "fake"}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    claim = node.client.create(
        RESOURCE_CLAIMS, {"metadata": {"name": "c"}, "spec": spec}, namespace="default"
    )
    result = {"request": "r", "driver": DRIVER, "pool": NODE, "device": "gpu-0"}
    claim["status"] = {"allocation": {"devices": {"results": [result]}}}
    node.client.replace(RESOURCE_CLAIMS, claim, namespace="default", subresource="status")
    return str(claim["metadata"]["uid"])


def test_it_starts_again_after_a_kill_without_touching_its_slices(node: Node) -> None:
    first = node.start()
    assert poll(node.slices, Deadline.after(LIMIT_S))
    before = node.slices()
    first.kill()
    first.wait(LIMIT_S)
    assert node.socket.exists()
    node.start("--log-level=debug")
    assert poll(lambda: _answers(node), Deadline.after(LIMIT_S))
    assert node.slices() == before


def _answers(node: Node) -> bool:
    try:
        return bool(call(node.socket, wire.GET_INFO).name == DRIVER)
    except grpc.RpcError:
        return False


def test_it_waits_for_an_api_server_that_is_not_there(node: Node) -> None:
    node.server.stop()
    process = node.start()
    assert _answers(node)
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == 0


def test_a_kubeconfig_that_is_none_ends_it(node: Node) -> None:
    node.kubeconfig.write_text("current-context: none\n")
    process = node.start()
    assert process.wait(LIMIT_S) == 2
    _, errors = process.communicate(timeout=LIMIT_S)
    assert errors.splitlines()[-1].endswith("mend it")
    assert not node.socket.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the node name is missing; give --node-name or set NODE_NAME"),
        (("--node-name=n",), "give --kubeconfig or set KUBECONFIG"),
        (("--node-name=n", "--kubeconfig=/nowhere"), "there is no kubeconfig file /nowhere"),
        (("--node-name=N",), "--node-name is 'N'; want a node name"),
        (("--node-name=n", "--driver-name=9.x"), "that starts with a letter"),
        (("--node-name=n", "--log-level=loud"), "--log-level is 'loud'; want one of"),
        (("--colour",), "unrecognized arguments: --colour; see dra-fake-driver --help"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], message: str
) -> None:
    code, output, errors = ended(*arguments)
    assert (code, output) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


def test_unusable_values_of_a_right_call_are_refused_too(node: Node) -> None:
    inventory = node.root / "inventory.yaml"
    inventory.write_text("pools: 7\n")
    right = {"NODE_NAME": NODE, "KUBECONFIG": str(node.kubeconfig)}
    for arguments, message in (
        (("--fault=PREP-999",), "there is no fault 'PREP-999'; did you mean"),
        ((f"--inventory={inventory}",), f"{inventory}:1:8: inventory.pools is 7"),
        ((f"--registry-dir=/tmp/{'x' * 90}",), "a Unix socket takes 107"),
        ((f"--cdi-root={inventory}",), "mend the directory"),
    ):
        directories = (f"--plugins-dir={node.root}", f"--cdi-root={node.root / 'c'}")
        code, _, errors = ended(*directories, *arguments, **right)
        assert code == 2
        assert message in errors


def test_faults_are_listed_without_anything_else(node: Node) -> None:
    code, output, _ = ended("--list-faults")
    assert code == 0
    assert [line.split()[0] for line in output.splitlines()] == [
        f.case for f in faults.all_faults()
    ]

from __future__ import annotations

import json
import threading
import zlib
from pathlib import Path
from typing import Any

import grpc
import pytest

from pytest_dra.kubelet import CheckpointError
from pytest_dra.kubelet import ClaimAnswer
from pytest_dra.kubelet import ClaimRef
from pytest_dra.kubelet import PreparedDevice
from pytest_dra.kubelet.checkpoint import Checkpoint
from pytest_dra.waiting import Deadline
from pytest_dra.wire import Method
from tests.kubelet.conftest import Node
from tests.kubelet.conftest import soon

DRIVER = "gpu.example.com"
CLAIM = ClaimRef("default", "uid-1", "claim-1")
DEVICE = PreparedDevice(
    request_names=("r0",),
    pool_name="node-1",
    device_name="gpu-0",
    cdi_device_ids=("example.com/gpu=0",),
    share_id=None,
)


def _inner(path: Path) -> Any:
    outer = json.loads(path.read_text())
    assert set(outer) == {"Data", "Checksum"}
    assert zlib.crc32(outer["Data"].encode()) == outer["Checksum"]
    return json.loads(outer["Data"])


def test_the_file_has_the_kubelets_form(tmp_path: Path) -> None:
    made = Checkpoint(tmp_path / "dra_manager_state")
    made.begin(DRIVER, [CLAIM])
    [state] = _inner(made.path)["ClaimInfoStateList"]
    assert state["DriverState"] == {DRIVER: {"Devices": None}}
    made.prepared(DRIVER, {"uid-1": ClaimAnswer(error="", devices=(DEVICE,))})
    inner = _inner(made.path)
    assert (inner["kind"], inner["apiVersion"]) == (
        "DRACheckpoint",
        "checkpoint.dra.kubelet.k8s.io/v1",
    )
    assert inner["ClaimInfoStateList"] == [
        {
            "ClaimUID": "uid-1",
            "ClaimName": "claim-1",
            "Namespace": "default",
            "PodUIDs": {},
            "DriverState": {
                DRIVER: {
                    "Devices": [
                        {
                            "PoolName": "node-1",
                            "DeviceName": "gpu-0",
                            "ShareID": None,
                            "RequestNames": ["r0"],
                            "CDIDeviceIDs": ["example.com/gpu=0"],
                        }
                    ]
                }
            },
        }
    ]


def test_after_a_restart_the_claims_are_there_and_not_prepared(tmp_path: Path) -> None:
    before = Checkpoint(tmp_path / "state")
    before.begin(DRIVER, [CLAIM])
    before.prepared(DRIVER, {"uid-1": ClaimAnswer(error="", devices=(DEVICE,))})
    [kept] = before.claims()
    assert kept.prepared
    after = Checkpoint(tmp_path / "state")
    after.load()
    [kept] = after.claims()
    assert (kept.claim, dict(kept.drivers), kept.prepared) == (CLAIM, {DRIVER: (DEVICE,)}, False)
    after.unprepared(DRIVER, {"uid-1": ClaimAnswer(error="no", devices=())})
    assert after.claims() != ()
    after.unprepared(DRIVER, {"uid-1": ClaimAnswer(error="", devices=())})
    assert after.claims() == ()
    assert _inner(after.path)["ClaimInfoStateList"] == []


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        '{"Data":"x","Checksum":1}',
        json.dumps({"Data": "{}", "Checksum": zlib.crc32(b"{}")}),
    ],
)
def test_a_corrupt_file_stops_the_kubelet_before_it_wipes(node: Node, text: str) -> None:
    path = node.root / "state"
    path.write_text(text)
    with pytest.raises(CheckpointError, match="checkpoint is corrupted"):
        node.kubelet(checkpoint=path)
    assert node.wiped == []


def test_prepare_and_unprepare_are_kept(node: Node) -> None:
    node.plugin().start()
    kubelet = node.kubelet(checkpoint=node.root / "state")
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    assert kubelet.prepare(DRIVER, [CLAIM]).ok
    kubelet.restart()
    [kept] = kubelet.claims()
    assert (kept.claim, kept.prepared) == (CLAIM, False)
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    assert kubelet.unprepare(DRIVER, [CLAIM]).ok
    assert kubelet.claims() == ()


class _Hanging:
    """Answers the first Prepare only when told to."""

    def __init__(self, node: Node) -> None:
        self.called: list[str] = []
        self.gate = threading.Event()
        node.stack.callback(self.gate.set)

    def answer(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        self.called.append(method.name)
        if len(self.called) == 1:
            self.gate.wait(10)
        return method.response()


@pytest.mark.parametrize("way", ["restart", "reboot"])
def test_a_call_cut_by_a_restart_is_made_again_and_one_cut_by_a_reboot_is_not(
    node: Node, way: str
) -> None:
    hanging = _Hanging(node)
    node.plugin(answer=hanging.answer).start()
    kubelet = node.kubelet(checkpoint=node.root / "state")
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    codes: list[str] = []
    caller = threading.Thread(target=lambda: codes.append(kubelet.prepare(DRIVER, [CLAIM]).code))
    caller.start()
    soon(lambda: hanging.called)
    if way == "restart":
        kubelet.stop()
    else:
        kubelet.reboot()
    caller.join(10)
    assert codes == ["CANCELLED"]
    kubelet.start()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    if way == "restart":
        soon(lambda: len(hanging.called) == 2)
    else:
        assert kubelet.unprepare(DRIVER, [CLAIM]).ok
        assert hanging.called == ["NodePrepareResources", "NodeUnprepareResources"]


def test_a_running_pods_claim_gets_no_call_after_a_restart(node: Node) -> None:
    plugin = node.plugin().start()
    kubelet = node.kubelet(checkpoint=node.root / "state")
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    assert kubelet.prepare(DRIVER, [CLAIM]).ok
    kubelet.restart()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    assert [kind for kind, _ in plugin.authorities].count("dra") == 1

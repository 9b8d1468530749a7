from __future__ import annotations

import dataclasses
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from pytest_dra.kubelet import CheckpointError
from pytest_dra.kubelet import ClaimRef
from pytest_dra.kubelet import KeptClaim
from pytest_dra.kubelet import PreparedDevice
from pytest_dra.kubelet.checkpoint import Checkpoint
from tests.kubelet.conftest import Node

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


def _kept(devices: tuple[PreparedDevice, ...] | None = (DEVICE,)) -> KeptClaim:
    drivers = {DRIVER: devices}
    return KeptClaim(claim=CLAIM, drivers=drivers, pods=frozenset({"pod-1"}), prepared=True)


def test_the_file_has_the_kubelets_form(tmp_path: Path) -> None:
    path = tmp_path / "dra_manager_state"
    made = Checkpoint(path)
    made.put(_kept(None))
    made.write()
    [state] = _inner(path)["ClaimInfoStateList"]
    assert state["DriverState"] == {DRIVER: {"Devices": None}}
    made.put(_kept())
    made.write()
    inner = _inner(path)
    assert (inner["kind"], inner["apiVersion"]) == (
        "DRACheckpoint",
        "checkpoint.dra.kubelet.k8s.io/v1",
    )
    assert inner["ClaimInfoStateList"] == [
        {
            "ClaimUID": "uid-1",
            "ClaimName": "claim-1",
            "Namespace": "default",
            "PodUIDs": {"pod-1": {}},
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


@pytest.mark.parametrize("on_disk", [True, False])
def test_after_a_restart_the_claims_are_there_and_not_prepared(
    tmp_path: Path, *, on_disk: bool
) -> None:
    path = tmp_path / "state" if on_disk else None
    before = Checkpoint(path)
    before.put(_kept())
    before.write()
    after = Checkpoint(path) if on_disk else before
    after.load()
    [kept] = after.claims()
    assert kept == dataclasses.replace(_kept(), prepared=False)
    assert after.of_pod("pod-1") == (kept,)
    assert after.of_pod("pod-2") == ()
    after.drop(kept)
    after.write()
    assert after.claims() == ()
    assert path is None or _inner(path)["ClaimInfoStateList"] == []


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

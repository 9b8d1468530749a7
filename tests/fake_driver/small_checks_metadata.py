"""Small checks of the metadata of prepared devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good
from tests.fake_driver.small_checks_shares import SOON_S
from tests.fake_driver.small_checks_shares import on_features

BASE = "/var/run/kubernetes.io/dra-device-attributes/resourceclaims"


def _claim(rig: Rig) -> Claim:
    return rig.claim(result("gpu-0", "one"), result("gpu-1", "two"))


def _mounts(rig: Rig, entry: Any, request: str) -> list[dict[str, Any]]:
    """What a container of the request sees of metadata."""
    return [
        mount
        for device in entry.devices
        if request in device.request_names
        for cdi_id in device.cdi_device_ids
        for mount in (rig.edits(cdi_id) or {}).get("mounts", [])
        if mount["containerPath"].startswith(BASE)
    ]


def _document(mount: dict[str, Any]) -> dict[str, Any]:
    text = Path(mount["hostPath"]).read_text("utf-8")
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
    return found


@on_features("META-001")
def _(rig: Rig) -> None:
    claim = _claim(rig)
    entry = good(rig, claim)
    last = [_mounts(rig, entry, request)[-1] for request in ("one", "two")]
    documents = [_document(mount) for mount in last]
    freed(rig, claim)
    for request, mount, document in zip(("one", "two"), last, documents, strict=True):
        path = f"{BASE}/{claim.name}/{request}/{DRIVER}-metadata.json"
        assert mount["containerPath"] == path
        assert document["metadata"]["uid"] == claim.uid


@on_features("META-002")
def _(rig: Rig) -> None:
    claim = _claim(rig)
    mounts = _mounts(rig, good(rig, claim), "one")
    freed(rig, claim)
    assert all("/one/" in mount["containerPath"] for mount in mounts)


@on_features("META-003")
def _(rig: Rig) -> None:
    claim = _claim(rig)
    mounts = _mounts(rig, good(rig, claim), "one")
    freed(rig, claim)
    assert all("ro" in mount["options"] for mount in mounts)


@on_features("META-004")
def _(rig: Rig) -> None:
    claim = _claim(rig)
    mount = _mounts(rig, good(rig, claim), "one")[-1]
    (rig.options.data_dir / f"update-{claim.uid}").touch()
    risen = rig.wait(lambda: _document(mount)["metadata"]["generation"] == 2, SOON_S)
    freed(rig, claim)
    assert risen


@on_features("META-005")
def _(rig: Rig) -> None:
    claim = _claim(rig)
    path = Path(_mounts(rig, good(rig, claim), "one")[-1]["hostPath"])
    freed(rig, claim)
    assert not path.parent.parent.exists()


@on_features("META-006")
def _(rig: Rig) -> None:
    claim = _claim(rig)
    mount = _mounts(rig, good(rig, claim), "one")[-1]
    (device,) = _document(mount)["requests"][0]["devices"]
    freed(rig, claim)
    published = [
        each["attributes"]
        for item in rig.store.of(DRIVER)
        for each in item["spec"].get("devices") or []
        if (item["spec"]["pool"]["name"], each["name"]) == (NODE, "gpu-0")
    ]
    assert not published or device["attributes"] == published[0]

"""Small checks of registration and slices."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import grpc

from pytest_dra import wire
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good
from tests.fake_driver.small_checks import pools_of

SLOW_S = 1.0
"""From here on an answer of the registration socket is slow; the slow faults take longer."""


@check("REG-001")
def _(rig: Rig) -> None:
    names = [path.name for path in rig.options.registry_dir.glob("*")]
    assert names == [f"{DRIVER}-reg.sock"]


@check("REG-002")
def _(rig: Rig) -> None:
    assert rig.info.type == "DRAPlugin"


@check("REG-003")
def _(rig: Rig) -> None:
    rig.wait(lambda: rig.store.slices, 2.0)
    drivers = {item["spec"]["driver"] for item in rig.store.slices.values()}
    assert drivers <= {rig.info.name}


@check("REG-004")
def _(rig: Rig) -> None:
    assert set(rig.info.supported_versions) & set(wire.DRA_API_NAMES)


def _served(rig: Rig, version: str) -> bool:
    for name in ("prepare", "unprepare"):
        try:
            rig.dra(name, (), version)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return False
    return True


@check("REG-005")
def _(rig: Rig) -> None:
    assert set(rig.info.supported_versions) >= set(wire.DRA_API_NAMES)
    assert all(_served(rig, version) for version in wire.DRA_API_NAMES)


@check("REG-006")
def _(rig: Rig) -> None:
    advertised = set(rig.info.supported_versions) & set(wire.DRA_API_NAMES)
    assert all(_served(rig, version) for version in advertised)


@check("REG-007")
def _(rig: Rig) -> None:
    assert rig.reachable_at_once


def _kubelet(rig: Rig) -> None:
    """A kubelet comes: GetInfo, Notify, and a connection that stays."""
    rig.get_info()
    channel = rig.channel(rig.options.registration_socket)
    rig.call(channel, wire.NOTIFY_REGISTRATION_STATUS, plugin_registered=True)


def _kubelet_goes(rig: Rig) -> None:
    rig.disconnect()
    rig.store.wipe(NODE)


@check("REG-009")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    good(rig, claim)
    _kubelet_goes(rig)
    rig.wait(lambda: not rig.options.registration_socket.exists(), 0.15)
    try:
        assert rig.options.registration_socket.exists()
        _kubelet(rig)
        good(rig, claim)
    finally:
        freed(rig, claim)


@check("REG-010")
def _(rig: Rig) -> None:
    assert rig.kill_and_start()
    rig.get_info()


@check("REG-014")
def _(rig: Rig) -> None:
    start = time.monotonic()
    rig.get_info()
    assert time.monotonic() - start < SLOW_S


@check("REG-015")
def _(rig: Rig) -> None:
    start = time.monotonic()
    channel = rig.channel(rig.options.registration_socket)
    rig.call(channel, wire.NOTIFY_REGISTRATION_STATUS, plugin_registered=True)
    assert time.monotonic() - start < SLOW_S


@check("REG-017")
def _(rig: Rig) -> None:
    endpoint = Path(rig.info.endpoint)
    assert endpoint.is_absolute()
    assert rig.wait(endpoint.is_socket)


@check("REG-019")
def _(rig: Rig) -> None:
    rig.get_info(str(rig.options.registration_socket).replace("/", "%2F"))


@check("SLICE-001")
def _(rig: Rig) -> None:
    assert rig.wait(lambda: rig.store.of(DRIVER), 2.0)


def _sent(rig: Rig) -> list[Any]:
    return [body["spec"] for method, body in rig.store.writes if method in ("POST", "PUT")]


@check("SLICE-002")
def _(rig: Rig) -> None:
    ways = ("nodeName", "allNodes", "perDeviceNodeSelection")
    assert all(sum(way in spec for way in ways) == 1 for spec in _sent(rig))


@check("SLICE-003")
def _(rig: Rig) -> None:
    assert {spec.get("nodeName", NODE) for spec in _sent(rig)} <= {NODE}


@check("SLICE-005")
def _(rig: Rig) -> None:
    for specs in pools_of(rig).values():
        assert {spec["pool"]["resourceSliceCount"] for spec in specs} == {len(specs)}


@check("SLICE-007")
def _(rig: Rig) -> None:
    for specs in pools_of(rig).values():
        names = Counter(device["name"] for spec in specs for device in spec.get("devices", []))
        assert max(names.values()) == 1


@check("SLICE-008")
def _(rig: Rig) -> None:
    assert all(d["name"].islower() for spec in _sent(rig) for d in spec.get("devices", []))


@check("SLICE-012")
def _(rig: Rig) -> None:
    rig.wait(lambda: rig.store.of(DRIVER), 2.0)
    before = {spec["pool"]["name"] for spec in _sent(rig)} & set(pools_of(rig))
    rig.store.wipe(NODE)
    assert rig.wait(lambda: set(pools_of(rig)) == before, 1.0)


@check("REG-013")
def _(rig: Rig) -> None:
    socket = rig.options.registration_socket
    if not socket.exists() or rig.driver is None:
        return
    socket.unlink()
    rig.disconnect()
    rig.driver.endpoint.look_after()
    found = socket.exists()
    if not found:
        rig.kill_and_start()
    assert found

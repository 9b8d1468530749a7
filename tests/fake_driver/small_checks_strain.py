"""Small checks of much at a time and of the unexpected."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import grpc

from pytest_dra import wire
from tests.fake_driver.rig import CALL_S
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

UNKNOWN = b"\xc2\x3e\x01x"

FOLLOW_S = 3.0
SLOW_S = 1.0
CYCLES = 20
ROUNDS = 3

ABORTED: list[bool] = []
"""That the driver would have ended the process at once."""


@check("ROB-001")
def _(rig: Rig) -> None:
    names = [*(f"gpu-{n}" for n in range(8)), *(f"nic-{n}" for n in range(4))]
    claims = tuple(rig.claim(result(name)) for name in names)
    answers = rig.dra("prepare", claims)
    assert all(not answers[claim.uid].error for claim in claims)
    freed(rig, *claims)


@check("ROB-004")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    methods = wire.DRA_METHODS[rig.version()]
    method = methods.prepare
    request = method.request(
        claims=[methods.claim(namespace=a.namespace, name=a.name, uid=a.uid)]
    ).SerializeToString()
    stub = rig.channel(rig.options.dra_socket).unary_unary(
        method.path,
        request_serializer=bytes,
        response_deserializer=method.response.FromString,
    )
    answer = stub(request + UNKNOWN, timeout=CALL_S, wait_for_ready=True)
    freed(rig, a)
    assert not answer.claims[a.uid].error


@check("ROB-005")
def _(rig: Rig) -> None:
    padding = {"opaque": {"driver": "other.example.com", "parameters": {"text": "x" * 10000}}}
    a = rig.claim(result("gpu-0"), config=[{"source": "FromClaim", **padding} for _ in range(8)])
    good(rig, a)
    freed(rig, a)


@check("ROB-007")
def _(rig: Rig) -> None:
    ABORTED.clear()
    with contextlib.suppress(grpc.RpcError):
        rig.prepare(Claim(name="c", uid=""))
    assert not ABORTED


@check("ROB-002")
def _(rig: Rig) -> None:
    left: list[Any] = []
    for _ in range(ROUNDS):
        claims = [rig.claim(result(f"gpu-{n}")) for n in range(4)]
        good(rig, claims[0])
        threads = [threading.Thread(target=rig.prepare, args=(claim,)) for claim in claims[1:]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(CALL_S)
        freed(rig, *claims)
        left += [path for claim in claims for path in rig.residue(claim)]
    for path in left:
        path.unlink()
    assert left == []


@check("ROB-003")
def _(rig: Rig) -> None:
    longest = 0.0
    for _ in range(CYCLES):
        a = rig.claim(result("gpu-0"))
        began = time.monotonic()
        good(rig, a)
        longest = max(longest, time.monotonic() - began)
        freed(rig, a)
    assert longest < SLOW_S


@check("ROB-006")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
    stored = rig.stored(a)
    stored["broken"] = True
    assert rig.prepare(a).error
    del stored["broken"]
    answered = threading.Thread(target=rig.prepare, args=(b,))
    answered.start()
    answered.join(SLOW_S)
    late = answered.is_alive()
    good(rig, a)
    answered.join(CALL_S)
    freed(rig, a, b)
    assert not late


@check("ROB-008")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
    good(rig, a)
    directory = rig.options.data_dir
    aside = directory.with_name("data-aside")
    directory.rename(aside)
    directory.touch()
    try:
        failed = rig.prepare(b).error
    finally:
        directory.unlink()
        aside.rename(directory)
    freed(rig, a, b)
    left = rig.residue(a)
    for path in left:
        path.unlink()
    assert failed
    assert left == []


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@check("ROB-009")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    freed(rig, a)
    before = _descriptors()
    for _ in range(CYCLES):
        good(rig, a)
        freed(rig, a)
    assert _descriptors() < before + CYCLES // 2


def _faces(rig: Rig) -> dict[tuple[str, str], str]:
    return {
        (item["spec"]["pool"]["name"], device["name"]): device["attributes"]["uuid"]["string"]
        for item in rig.store.of(DRIVER)
        for device in item["spec"].get("devices") or []
        if "uuid" in device.get("attributes", {})
    }


@check("ROB-010")
def _(rig: Rig) -> None:
    before = _faces(rig)
    rig.options.unplugged.touch()
    rig.wait(lambda: len(_faces(rig)) < len(before), FOLLOW_S)
    away = _faces(rig)
    rig.options.unplugged.unlink()
    rig.wait(lambda: len(_faces(rig)) == len(before), FOLLOW_S)
    assert all(before[name] == face for name, face in away.items())

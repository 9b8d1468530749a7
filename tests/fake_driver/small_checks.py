"""The steps of each case in a few lines, independent of the suite's own checks.

Each function acts on a rig and asserts; ``CHECKS`` has them in the order of the catalogue. They
run one after the other on one driver, as the suite does it, so what a fault leaves behind for
other cases shows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from pytest_dra import wire
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result

SLOW_S = 1.0
"""From here on an answer of the registration socket is slow; the slow faults take longer."""

Check = Callable[[Rig], None]

CHECKS: dict[str, Check] = {}

BAD_CONFIG: list[Any] = [
    {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": {"kind": "Bad"}}}
]


def check(case: str) -> Callable[[Check], Check]:
    def register(function: Check) -> Check:
        CHECKS[case] = function
        return function

    return register


def good(rig: Rig, claim: Claim) -> Any:
    entry = rig.prepare(claim)
    assert entry.error == ""
    return entry


def freed(rig: Rig, *claims: Claim) -> None:
    for claim in claims:
        assert rig.unprepare(claim) == ""


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
    assert all(("nodeName" in spec) != ("allNodes" in spec) for spec in _sent(rig))


@check("SLICE-003")
def _(rig: Rig) -> None:
    assert {spec["nodeName"] for spec in _sent(rig)} <= {NODE}


def _pools(rig: Rig) -> dict[str, list[Any]]:
    pools: dict[str, list[Any]] = {}
    for item in rig.store.of(DRIVER):
        pools.setdefault(item["spec"]["pool"]["name"], []).append(item["spec"])
    return pools


@check("SLICE-005")
def _(rig: Rig) -> None:
    for specs in _pools(rig).values():
        assert {spec["pool"]["resourceSliceCount"] for spec in specs} == {len(specs)}


@check("SLICE-007")
def _(rig: Rig) -> None:
    for specs in _pools(rig).values():
        names = Counter(device["name"] for spec in specs for device in spec["devices"])
        assert max(names.values()) == 1


@check("SLICE-008")
def _(rig: Rig) -> None:
    assert all(d["name"].islower() for spec in _sent(rig) for d in spec["devices"])


@check("SLICE-012")
def _(rig: Rig) -> None:
    rig.wait(lambda: rig.store.of(DRIVER), 2.0)
    before = {spec["pool"]["name"] for spec in _sent(rig)} & set(_pools(rig))
    rig.store.wipe(NODE)
    assert rig.wait(lambda: set(_pools(rig)) == before, 1.0)


@check("PREP-001")
def _(rig: Rig) -> None:
    for size in (1, 2, 8):
        claims = tuple(rig.claim(result(f"gpu-{n}")) for n in range(size))
        answers = rig.dra("prepare", claims)
        for claim in claims:
            rig.unprepare(claim)
        assert {claim.uid for claim in claims} <= set(answers)


@check("PREP-002")
def _(rig: Rig) -> None:
    claims = tuple(rig.claim(result(f"gpu-{n}")) for n in range(2))
    answers = rig.dra("prepare", claims)
    freed(rig, *claims)
    assert set(answers) <= {claim.uid for claim in claims}


def _pairs(entry: Any) -> set[tuple[str, str]]:
    return {(device.pool_name, device.device_name) for device in entry.devices}


def _two(rig: Rig) -> Claim:
    return rig.claim(result("gpu-0", "a"), result("gpu-1", "b"))


@check("PREP-003")
def _(rig: Rig) -> None:
    claim = _two(rig)
    entry = good(rig, claim)
    freed(rig, claim)
    assert _pairs(entry) <= {(NODE, "gpu-0"), (NODE, "gpu-1")}


@check("PREP-004")
def _(rig: Rig) -> None:
    names = [
        device["name"] for specs in _pools(rig).values() for s in specs for device in s["devices"]
    ]
    claim = rig.claim(*(result(name) for name in names if not name.startswith("extra")))
    entry = good(rig, claim)
    freed(rig, claim)
    assert _pairs(entry) == {(NODE, name) for name in names if not name.startswith("extra")}


@check("PREP-005")
def _(rig: Rig) -> None:
    claim = _two(rig)
    entry = good(rig, claim)
    freed(rig, claim)
    assert {name for device in entry.devices for name in device.request_names} <= {"a", "b"}


@check("PREP-006")
def _(rig: Rig) -> None:
    foreign = {**result("gpu-0"), "driver": "decoy.example.com", "pool": "other"}
    for results in ((result("gpu-0"), foreign), (foreign, result("gpu-0"))):
        claim = rig.claim(*results)
        entry = rig.prepare(claim)
        rig.unprepare(claim)
        assert not entry.error
        assert len(entry.devices) == 1


@check("PREP-007")
def _(rig: Rig) -> None:
    claim = rig.claim(result("no-such-device"))
    error = rig.prepare(claim).error
    assert rig.residue(claim) == []
    freed(rig, claim)
    assert error


@check("PREP-010")
def _(rig: Rig) -> None:
    claim = rig.claim()
    error = rig.prepare(claim).error
    freed(rig, claim)
    assert error


@check("PREP-011")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    b = rig.claim(result("gpu-1"), config=BAD_CONFIG)
    try:
        answers = rig.dra("prepare", (a, b))
    finally:
        freed(rig, a, b)
    assert set(answers) == {a.uid, b.uid}
    assert answers[a.uid].error == ""
    assert answers[b.uid].error


@check("PREP-012")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-0"))
    good(rig, a)
    error = rig.prepare(b).error
    freed(rig, a)
    good(rig, b)
    freed(rig, b)
    assert error


@check("PREP-023")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-0"))
    good(rig, claim)
    rig.unprepare(claim)


@check("UNP-001")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    unknown = rig.claim(result("gpu-1"))
    answers = rig.dra("unprepare", (a, unknown))
    assert set(answers) == {a.uid, unknown.uid}


@check("UNP-002")
def _(rig: Rig) -> None:
    unknown = rig.claim(result("gpu-1"))
    rig.delete(unknown)
    freed(rig, unknown)


@check("UNP-003")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    rig.delete(a)
    error = rig.unprepare(a)
    if error:
        rig.allocate(a, result("gpu-0"))
        rig.unprepare(a)
    assert error == ""


@check("UNP-004")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    freed(rig, a)
    left = rig.residue(a)
    for path in left:
        path.unlink()
    assert left == []


@check("UNP-005")
def _(rig: Rig) -> None:
    for device in ("gpu-0", "gpu-1", "nic-5"):
        a, b = rig.claim(result(device)), rig.claim(result(device))
        good(rig, a)
        freed(rig, a)
        error = rig.prepare(b).error
        freed(rig, b)
        assert error == ""


@check("UNP-006")
def _(rig: Rig) -> None:
    a, b = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
    good(rig, a)
    entry = good(rig, b)
    ids = [cdi_id for device in entry.devices for cdi_id in device.cdi_device_ids]
    before = [rig.edits(cdi_id) for cdi_id in ids]
    freed(rig, a)
    after = [rig.edits(cdi_id) for cdi_id in ids]
    again = good(rig, b)
    freed(rig, b)
    assert before == after
    assert entry == again


@check("UNP-009")
def _(rig: Rig) -> None:
    for early in (False, True):
        old = rig.claim(result("gpu-0"))
        good(rig, old)
        new = rig.claim(result("gpu-1"), name=old.name)
        if early:
            freed(rig, old)
        entry = good(rig, new)
        resolved = rig.resolves(entry)
        if not early:
            freed(rig, old)
        still = rig.resolves(entry)
        again = rig.prepare(new)
        rig.unprepare(new)
        rig.unprepare(old)
        assert resolved == still
        assert entry == again


@check("IDEM-001")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    entries = [rig.prepare(a) for _ in range(10)]
    rig.unprepare(a)
    assert all(entry == entries[0] and not entry.error for entry in entries)


@check("IDEM-002")
def _(rig: Rig) -> None:
    def state(entry: Any) -> Any:
        edits = [rig.edits(i) for device in entry.devices for i in device.cdi_device_ids]
        return edits, sorted(rig.options.data_dir.rglob("*")), set(rig.specs())

    a = rig.claim(result("gpu-0"))
    first = state(good(rig, a))
    entries = [good(rig, a) for _ in range(3)]
    last = state(entries[-1])
    freed(rig, a)
    assert first == last


@check("IDEM-004")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    for _ in range(3):
        good(rig, a)
        freed(rig, a)


@check("IDEM-005")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    for _ in range(5):
        freed(rig, a)


@check("IDEM-007")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    good(rig, a)
    freed(rig, a)
    rig.allocate(a, result("gpu-1"))
    entry = good(rig, a)
    freed(rig, a)
    assert [device.device_name for device in entry.devices] == ["gpu-1"]


@check("CDI-010")
def _(rig: Rig) -> None:
    name = ".".join(["a" * 63] * 3 + ["b" * 61])
    a = rig.claim(result("gpu-0"), name=name, namespace="n" * 63)
    good(rig, a)
    freed(rig, a)


@check("RST-001")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    entry = good(rig, a)
    assert rig.kill_and_start()
    again = rig.prepare(a)
    rig.unprepare(a)
    assert entry == again


TIMELINE: dict[str, Callable[[Rig, Any], None]] = {}
"""Judged at each answer to a Prepare of the run."""


def at_each_answer(case: str) -> Callable[[Callable[[Rig, Any], None]], Any]:
    def register(function: Callable[[Rig, Any], None]) -> Any:
        TIMELINE[case] = function
        return function

    return register


@at_each_answer("CDI-001")
def _(rig: Rig, entry: Any) -> None:
    assert all(d["containerEdits"] for spec in rig.specs().values() for d in spec["devices"])


@at_each_answer("CDI-002")
def _(rig: Rig, entry: Any) -> None:
    assert rig.resolves(entry)


@at_each_answer("CDI-005")
def _(rig: Rig, entry: Any) -> None:
    names = Counter(d["name"] for spec in rig.specs().values() for d in spec["devices"])
    assert max(names.values(), default=1) == 1


def failed(rig: Rig, case: str) -> bool:
    """Run one check: True if it fails."""
    try:
        CHECKS[case](rig)
    except (AssertionError, grpc.RpcError, KeyError):
        return True
    return False

"""Small checks of restart, crash and reboot."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import threading
import uuid
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from pytest_dra import wire
from pytest_dra.fake_driver.apiserver import ApiError
from pytest_dra.fake_driver.apiserver import ApiServer
from pytest_dra.fake_driver.driver import Driver
from pytest_dra.fake_driver.driver import Parts
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good

LEFT: list[int] = []
"""Exit codes with which the driver would have left the process at once."""


def _prepared(rig: Rig, device: str = "gpu-0") -> Claim:
    claim = rig.claim(result(device))
    good(rig, claim)
    return claim


def _free(rig: Rig, device: str = "gpu-0") -> None:
    freed(rig, _prepared(rig, device))


def _again(rig: Rig) -> None:
    """SIGTERM and start."""
    rig.stop()
    rig.start()


@check("RST-002")
def _(rig: Rig) -> None:
    a = _prepared(rig)
    rig.kill_and_start()
    freed(rig, a)
    left = rig.residue(a)
    for path in left:
        path.unlink()
    assert left == []
    _free(rig)


@check("RST-003")
def _(rig: Rig) -> None:
    a = rig.claim(result("gpu-0"))
    usual = rig.resolves(good(rig, a))
    rig.stop()
    for path in rig.texts():
        path.unlink()
    rig.start()
    rig.disturbed = True
    entry = good(rig, a)
    rig.disturbed = False
    resolves = rig.resolves(entry)
    freed(rig, a)
    assert resolves or not usual
    assert rig.residue(a) == []


@check("RST-004")
def _(rig: Rig) -> None:
    a, b = _prepared(rig), _prepared(rig, "gpu-1")
    rig.stop()
    for claim in (a, b):
        (rig.options.data_dir / "claims" / f"{claim.uid}.json").unlink(missing_ok=True)
    rig.start()
    entry = rig.prepare(a)
    freed(rig, a, b)
    assert entry.error == ""


@check("RST-005")
def _(rig: Rig) -> None:
    """As if killed between the checkpoint and what follows it."""

    first, a = rig.claim(result("gpu-0")), rig.claim(result("gpu-0"))
    usual = rig.resolves(good(rig, first))
    freed(rig, first)
    thread = threading.Thread(target=rig.prepare, args=(a,))
    rig.disturbed = True
    thread.start()
    checkpoint = rig.options.data_dir / "claims" / f"{a.uid}.json"
    rig.wait(lambda: checkpoint.exists(), 2.0)
    unfinished = not rig.specs()
    thread.join()
    if unfinished:
        for path in rig.specs():
            path.unlink()
    rig.kill_and_start()
    entry = good(rig, a)
    rig.disturbed = False
    resolves = rig.resolves(entry)
    freed(rig, a)
    assert resolves or not usual


@check("RST-006")
def _(rig: Rig) -> None:
    a = _prepared(rig)
    rig.stop()
    path = rig.options.data_dir / "claims" / f"{a.uid}.json"
    kept = path.exists()
    if kept:
        os.truncate(path, path.stat().st_size // 2)
    rig.start()
    b = rig.claim(result("gpu-0"))
    entry = rig.prepare(b)
    for path in rig.residue(a):
        path.unlink()
    freed(rig, a, b)
    assert entry.error or not kept


@check("RST-007")
def _(rig: Rig) -> None:
    a = _prepared(rig)
    rig.stop()
    rig.delete(a)
    rig.start()
    freed(rig, a)
    left = rig.residue(a)
    _free(rig)
    assert left == []


@check("REG-008")
def _(rig: Rig) -> None:
    channel = rig.channel(rig.options.registration_socket)
    rig.call(channel, wire.NOTIFY_REGISTRATION_STATUS, plugin_registered=False, error="no")
    assert LEFT == []


@check("REG-011")
def _(rig: Rig) -> None:
    long = dataclasses.replace(
        rig.options, driver_name=f"{'l' * 51}.example.com", instance_uid=str(uuid.uuid4())
    )
    driver = Driver(long, rig.parts)
    driver.start()
    found = list(rig.options.registry_dir.glob("*"))
    driver.stop()
    for path in (long.registration_socket, long.dra_socket):
        path.unlink(missing_ok=True)
    assert len(found) == 1 + len(list(rig.options.registry_dir.glob("*")))


@check("REG-012")
def _(rig: Rig) -> None:
    paths = (rig.options.registration_socket, rig.options.dra_socket)
    rig.stop()
    left = [path for path in paths if path.exists()]
    rig.start()
    assert left == []


@check("REG-016")
def _(rig: Rig) -> None:
    assert rig.info is None or rig.info.name.islower()


@check("REG-018")
def _(rig: Rig) -> None:
    known = [name for name in rig.info.supported_versions if name in wire.DRA_API_NAMES]
    assert known == sorted(known, key=list(wire.DRA_API_NAMES).index)


@check("RST-008")
def _(rig: Rig) -> None:
    def uids() -> set[str]:
        return {item["metadata"]["uid"] for item in rig.store.of(DRIVER)}

    rig.wait(uids, 2.0)
    before = uids()
    _again(rig)
    rig.wait(lambda: before - uids(), 0.2)
    after = uids()
    rig.wait(lambda: len(uids()) == len(before), 2.0)
    assert before <= after


@contextlib.contextmanager
def _second(rig: Rig) -> Iterator[Rig]:
    """Another instance on the same directories."""
    other = Rig(rig.options.registry_dir.parent)
    other.store, other.parts = rig.store, rig.parts
    other.options = dataclasses.replace(rig.options, instance_uid=str(uuid.uuid4()))
    other.start()
    try:
        yield other
    finally:
        other.stop()
        other.options.registration_socket.unlink(missing_ok=True)
        other.options.dra_socket.unlink(missing_ok=True)


def _inodes(rig: Rig) -> list[int]:
    paths = (rig.options.registration_socket, rig.options.dra_socket)
    return [path.stat().st_ino if path.exists() else 0 for path in paths]


@check("RST-014")
def _(rig: Rig) -> None:
    _again(rig)
    before = _inodes(rig)
    with _second(rig):
        after = _inodes(rig)
    if before != after:
        _again(rig)
    assert before == after


@check("RST-009")
def _(rig: Rig) -> None:
    with _second(rig) as other:
        a, b = _prepared(rig), rig.claim(result("gpu-0"))
        freed(other, a)
        entry = rig.prepare(b)
        freed(rig, a, b)
        assert entry.error == ""


@check("RST-010")
def _(rig: Rig) -> None:
    before = _inodes(rig)
    dead = rig.options.data_dir / "dra-dead.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(dead))
    with _second(rig):
        after = _inodes(rig)
    dead.unlink(missing_ok=True)
    if before != after:
        _again(rig)
    assert before == after


@check("RST-011")
def _(rig: Rig) -> None:
    new, old = rig.options, dataclasses.replace(rig.options, state_version=1)
    rig.stop()
    parts, rig.parts = rig.parts, dataclasses.replace(Parts(), api=rig.parts.api)
    rig.options = old
    rig.start()
    a = _prepared(rig)
    rig.stop()
    rig.parts, rig.options = parts, new
    rig.start()
    freed(rig, a)
    left = rig.residue(a)
    for path in left:
        path.unlink()
    assert left == []


@check("RST-013")
def _(rig: Rig) -> None:
    assert rig.driver is not None
    slices = rig.driver.publisher.slices
    again = rig.parts.publisher(rig.options, Refusing(None), slices)
    thread = threading.Thread(target=_swallow, args=(again.list_slices,))
    thread.start()
    thread.join(0.5)
    hangs = thread.is_alive()
    again.stopping.set()
    assert not hangs


class Refusing(ApiServer):
    """An API server that nobody reaches."""

    def request(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        raise ApiError(0, "connection refused")


def _swallow(call: Callable[[], object]) -> None:
    with contextlib.suppress(ApiError):
        call()

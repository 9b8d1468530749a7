"""Legal variants of the sockets and of what is said there do what the catalogue says of them."""

from __future__ import annotations

import os
import socket
import stat
import threading
from concurrent.futures import FIRST_COMPLETED
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait
from pathlib import Path
from queue import Queue
from typing import Any

import grpc
import pytest

from pytest_dra import wire
from pytest_dra.fake_driver import variants_health
from pytest_dra.fake_driver import variants_wire
from pytest_dra.fake_driver.claims import Allocation
from pytest_dra.fake_driver.claims import ClaimRef
from pytest_dra.fake_driver.preparer import Call
from tests.fake_driver.rig import CALL_S
from tests.fake_driver.rig import Claim
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.rig import running

BOTH = list(wire.DRA_API_NAMES)
HEALTH = list(wire.HEALTH_METHODS)

WAITS_S = 0.2
"""A call that is not answered in this time waits for another one."""


def call(rig: Rig, path: Path, method: wire.Method, **fields: Any) -> Any:
    return rig.call(rig.channel(path), method, **fields)


def info(rig: Rig) -> Any:
    assert rig.driver is not None
    return call(rig, rig.driver.endpoint.registry.path, wire.GET_INFO)


def first_health(rig: Rig, service: str) -> Any:
    method = wire.HEALTH_METHODS[service]
    stub: Any = rig.channel(rig.options.dra_socket).unary_stream(
        method.path,
        request_serializer=method.request.SerializeToString,
        response_deserializer=method.response.FromString,
    )
    return next(stub(method.request(), timeout=CALL_S, wait_for_ready=True))


def refusal(rig: Rig, *claims: Claim) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        rig.dra("prepare", claims)
    return caught.value.code(), str(caught.value.details())


def test_v02_advertises_health_and_declines_it() -> None:
    with running(variant="V02") as rig:
        assert list(info(rig).supported_versions) == [*BOTH, *HEALTH]
        for service in HEALTH:
            with pytest.raises(grpc.RpcError) as caught:
                first_health(rig, service)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_v08_tells_a_health_that_nobody_knows() -> None:
    with running(variant="V08-HEALTH") as rig:
        found = first_health(rig, HEALTH[0])
        assert {each.health for each in found.devices} == {variants_health.UNKNOWN_HEALTH}
        assert {each.device.device_name for each in found.devices} >= {"gpu-0", "nic-0"}


@pytest.mark.parametrize(
    ("variant", "versions"),
    [
        ("V07-V1", BOTH[:1]),
        ("V07-V1BETA1", BOTH[1:]),
        ("V08", ["v2.DRAPlugin", *BOTH, "v1.DRAPluginNextDoor"]),
    ],
)
def test_versions_are_advertised_and_served_alike(variant: str, versions: list[str]) -> None:
    with running(variant=variant) as rig:
        assert list(info(rig).supported_versions) == versions
        channel = rig.channel(rig.options.dra_socket)
        for name in BOTH:
            if name in versions:
                rig.call(channel, wire.DRA_METHODS[name].prepare)
            else:
                with pytest.raises(grpc.RpcError, match="UNIMPLEMENTED"):
                    rig.call(channel, wire.DRA_METHODS[name].prepare)


def test_v06_refuses_the_call_of_a_single_bad_claim() -> None:
    with running(variant="V06") as rig:
        good, bad = rig.claim(result("gpu-0")), rig.claim(result("no-such"))
        code, text = refusal(rig, bad)
        assert code is grpc.StatusCode.UNKNOWN
        assert "no device 'no-such'" in text
        both = rig.dra("prepare", (good, bad))
        assert (both[good.uid].error, bool(both[bad.uid].error)) == ("", True)


@pytest.mark.parametrize("trouble", ["missing", "unallocated", "replaced"])
def test_v06_refuses_a_batch_before_it_begins(trouble: str) -> None:
    with running(variant="V06-BATCH") as rig:
        good, bad = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
        if trouble == "missing":
            rig.delete(bad)
        elif trouble == "unallocated":
            rig.allocate(bad)
        else:
            rig.claim(result("gpu-1"), name=bad.name)
        assert refusal(rig, good, bad)[0] is grpc.StatusCode.UNKNOWN
        assert rig.residue(good) == []


def test_v06_leaves_other_trouble_to_its_claim() -> None:
    with running(variant="V06-BATCH") as rig:
        good, bad = rig.claim(result("gpu-0")), rig.claim(result("no-such"))
        both = rig.dra("prepare", (good, bad))
        assert (both[good.uid].error, bool(both[bad.uid].error)) == ("", True)


def test_v15_takes_one_call_at_a_time() -> None:
    with running(variant="V15") as rig, ThreadPoolExecutor(2) as pool:
        first, second = rig.claim(result("gpu-0")), rig.claim(result("gpu-1"))
        assert rig.driver is not None
        preparer, go, began = rig.driver.preparer, threading.Event(), threading.Event()
        allocation = preparer.allocation

        def held(ref: ClaimRef, call: Call) -> Allocation:
            if ref.uid == first.uid:
                began.set()
                go.wait(CALL_S)
            return allocation(ref, call)

        setattr(preparer, "allocation", held)  # noqa: B010 - mypy lets no method be assigned
        calls = [pool.submit(rig.prepare, first)]
        assert began.wait(CALL_S)
        calls.append(pool.submit(rig.prepare, second))
        assert not wait(calls, timeout=WAITS_S, return_when=FIRST_COMPLETED).done
        go.set()
        assert [each.result().error for each in calls] == ["", ""]


def notify(rig: Rig, *, registered: bool) -> None:
    path = rig.options.registration_socket
    call(rig, path, wire.NOTIFY_REGISTRATION_STATUS, plugin_registered=registered, error="no")


def test_v19_answers_bad_news_with_an_error() -> None:
    with running(variant="V19") as rig:
        notify(rig, registered=True)
        with pytest.raises(grpc.RpcError, match="registration has failed: no"):
            notify(rig, registered=False)
        notify(rig, registered=True)


@pytest.fixture(name="exits")
def _exits(monkeypatch: pytest.MonkeyPatch) -> Queue[int]:
    codes: Queue[int] = Queue()
    monkeypatch.setattr(os, "_exit", codes.put)
    monkeypatch.setattr(variants_wire, "CONFIRMATION_S", WAITS_S)
    return codes


def test_v19_ends_without_a_confirmation(exits: Queue[int]) -> None:
    with running(variant="V19-EXIT"):
        assert exits.get(timeout=CALL_S) == variants_wire.EXIT_UNCONFIRMED


def test_v19_goes_on_with_a_confirmation(
    exits: Queue[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants_wire, "CONFIRMATION_S", CALL_S)
    with running(variant="V19-EXIT") as rig:
        waiting = next(each for each in threading.enumerate() if each.name == "confirmation")
        notify(rig, registered=True)
        waiting.join(CALL_S)
        assert exits.empty()


@pytest.mark.parametrize("name", ["HASH", "UID", "DIRECTORIES", "OUTSIDE", "RENAMED", "LINKS"])
def test_v09_serves_both_sockets_where_they_are(name: str) -> None:
    with running(variant=f"V09-{name}") as rig:
        assert rig.driver is not None
        endpoint = rig.driver.endpoint
        registry, dra = endpoint.registry.path, endpoint.dra.path
        assert info(rig).endpoint == str(dra)
        call(rig, dra, wire.DRA_METHODS[BOTH[0]].prepare)
        usual = (rig.options.registration_socket, rig.options.dra_socket)
        assert ((registry, dra) == usual) is (name in ("RENAMED", "LINKS"))
        assert registry.is_relative_to(rig.options.registry_dir)
        assert dra.is_relative_to(rig.options.data_dir) is (name != "OUTSIDE")
        assert registry.is_symlink() is (name == "LINKS")
        assert stat.S_ISSOCK(registry.stat().st_mode)
        rig.stop()
        left = [*rig.options.registry_dir.rglob("*"), *rig.options.plugins_dir.parent.rglob("*")]
        assert [path for path in left if path.is_symlink() or path.is_socket()] == []


@pytest.mark.parametrize("name", ["HASH", "DIRECTORIES", "OUTSIDE", "RENAMED", "LINKS", "ONE"])
def test_v09_starts_beside_what_a_killed_one_has_left(name: str) -> None:
    with running(variant=f"V09-{name}") as rig:
        assert rig.driver is not None
        endpoint = rig.driver.endpoint
        rig.stop()
        for listener in (endpoint.registry, endpoint.dra):
            stale = socket.socket(socket.AF_UNIX)
            stale.bind(str(listener.bound()))
            stale.close()
            listener.show()
        rig.start()
        assert info(rig).name == rig.options.driver_name


def test_v09_serves_both_on_one_socket() -> None:
    with running(variant="V09-ONE") as rig:
        assert info(rig).endpoint == ""
        call(rig, rig.options.registration_socket, wire.DRA_METHODS[BOTH[0]].prepare)
        assert not rig.options.dra_socket.exists()

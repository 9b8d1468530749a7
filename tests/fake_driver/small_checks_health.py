"""Small checks of the health streams."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

import grpc

from pytest_dra import wire
from tests.fake_driver.rig import CALL_S
from tests.fake_driver.rig import DRIVER
from tests.fake_driver.rig import NODE
from tests.fake_driver.rig import Rig
from tests.fake_driver.rig import result
from tests.fake_driver.small_checks import check
from tests.fake_driver.small_checks import freed
from tests.fake_driver.small_checks import good
from tests.fake_driver.small_checks_shares import SOON_S
from tests.fake_driver.small_checks_shares import on_features

V1, ALPHA = wire.HEALTH_METHODS
FIRST_S = 0.8
MANY = 4
CUT = 1021


class Stream:
    """A stream that is read to its end; ``code`` is set then."""

    def __init__(self, rig: Rig, service: str) -> None:
        method = wire.HEALTH_METHODS[service]
        self.messages: list[Any] = []
        self.code: grpc.StatusCode | None = None
        stub: Any = rig.channel(rig.options.dra_socket).unary_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        self._call = stub(method.request(), wait_for_ready=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for message in self._call:
                self.messages.append(message)
            self.code = grpc.StatusCode.OK
        except grpc.RpcError as error:
            self.code = error.code()

    def cancel(self) -> None:
        self._call.cancel()

    @property
    def devices(self) -> list[Any]:
        return [device for message in list(self.messages) for device in message.devices]

    @property
    def names(self) -> set[tuple[str, str]]:
        return {(d.device.pool_name, d.device.device_name) for d in self.devices}


_KUBELETS: weakref.WeakKeyDictionary[Rig, Stream] = weakref.WeakKeyDictionary()


def _kubelets(rig: Rig) -> Stream:
    """The stream that a kubelet would have opened at the beginning, after some messages."""
    if rig not in _KUBELETS:
        _KUBELETS[rig] = Stream(rig, V1)
    stream = _KUBELETS[rig]
    rig.wait(lambda: len(stream.messages) >= MANY or stream.code, SOON_S)
    return stream


def _published(rig: Rig) -> set[tuple[str, str]]:
    assert rig.driver is not None
    return set(rig.driver.preparer.inventory.devices())


@on_features("HLTH-001")
def _(rig: Rig) -> None:
    _kubelets(rig)
    for service in (V1, ALPHA):
        stream = Stream(rig, service)
        came = rig.wait(lambda: stream.messages, FIRST_S)  # noqa: B023 - called within the loop
        stream.cancel()
        assert came


@check("HLTH-002")
def _(rig: Rig) -> None:
    if rig.options.features or V1 not in rig.info.supported_versions:
        return
    stream = Stream(rig, V1)
    rig.wait(lambda: stream.code, FIRST_S)
    code = stream.code
    stream.cancel()
    assert code is grpc.StatusCode.UNIMPLEMENTED


@on_features("HLTH-003")
def _(rig: Rig) -> None:
    assert _kubelets(rig).names <= _published(rig)


@on_features("HLTH-004")
def _(rig: Rig) -> None:
    stream = _kubelets(rig)
    assert not stream.messages or stream.names >= _published(rig)


@on_features("HLTH-005")
def _(rig: Rig) -> None:
    stream = _kubelets(rig)
    assert len(stream.messages) != 1


@on_features("HLTH-006")
def _(rig: Rig) -> None:
    assert all(len(each.message.encode()) <= CUT for each in _kubelets(rig).devices)


@on_features("HLTH-007")
def _(rig: Rig) -> None:
    before = _kubelets(rig).names
    stream = Stream(rig, V1)
    rig.wait(lambda: stream.messages or stream.code, CALL_S)
    names, code = stream.names, stream.code
    stream.cancel()
    assert names >= before or code


@on_features("HLTH-008")
def _(rig: Rig) -> None:
    assert all(each.last_updated_time <= time.time() + 10 for each in _kubelets(rig).devices)


@on_features("HLTH-010")
def _(rig: Rig) -> None:
    claim = rig.claim(result("gpu-7"))
    good(rig, claim)
    file = rig.options.data_dir / "faulty-gpu-7"
    file.touch()

    def tainted() -> bool:
        return any(
            device.get("taints")
            for item in rig.store.of(DRIVER)
            for device in item["spec"].get("devices") or []
            if (item["spec"]["pool"]["name"], device["name"]) == (NODE, "gpu-7")
        )

    found = rig.wait(tainted, SOON_S)
    freed(rig, claim)
    file.unlink()
    rig.wait(lambda: not tainted(), SOON_S)
    assert found


@on_features("HLTH-012")
def _(rig: Rig) -> None:
    assert V1 in rig.info.supported_versions


@on_features("HLTH-013")
def _(rig: Rig) -> None:
    stream = Stream(rig, ALPHA)
    rig.wait(lambda: stream.messages, FIRST_S)
    claim = rig.claim(result("gpu-7"))
    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(rig.prepare(claim).error), daemon=True)
    thread.start()
    thread.join(FIRST_S)
    in_time = done == [""]
    stream.cancel()
    thread.join(CALL_S)
    freed(rig, claim)
    assert in_time


@on_features("HLTH-014")
def _(rig: Rig) -> None:
    for each in _kubelets(rig).devices:
        kept = each.message.encode()[:CUT].decode(errors="ignore")
        assert each.message.startswith(kept)
        assert len(kept.encode()) in (CUT, len(each.message.encode()))


@on_features("HLTH-015")
def _(rig: Rig) -> None:
    assert _kubelets(rig).code is not grpc.StatusCode.UNIMPLEMENTED

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import grpc
import pytest

from pytest_dra.kubelet import ClaimRef
from pytest_dra.kubelet import DraClient
from pytest_dra.kubelet import RegistrationClient
from pytest_dra.kubelet.answers import RECORDED_LIMIT
from pytest_dra.kubelet.answers import bounded
from pytest_dra.kubelet.wiping import SliceWiper
from pytest_dra.timeline import DraCall
from pytest_dra.timeline import Mark
from pytest_dra.waiting import Deadline
from pytest_dra.wire import Method
from tests.kubelet.conftest import SMALL
from tests.kubelet.conftest import Node
from tests.kubelet.conftest import soon
from tests.kubelet.plugin import ScriptedPlugin

DRIVER = "gpu.example.com"
CLAIM = ClaimRef("default", "uid-1", "claim-1")


def _client(node: Node, plugin: ScriptedPlugin) -> DraClient:
    client = DraClient(
        plugin.endpoint, timeline=node.timeline, instance="A", driver=DRIVER, settings=SMALL
    )
    node.stack.callback(client.close)
    return client


@pytest.mark.parametrize("service", ["v1.DRAPlugin", "v1beta1.DRAPlugin"])
def test_prepare_and_unprepare_give_the_answers_by_uid(node: Node, service: str) -> None:
    client = _client(node, node.plugin().start())
    assert client.connected(Deadline.after(10))
    prepared = client.prepare([CLAIM], service=service)
    assert prepared.code == "OK"
    [device] = prepared.claims["uid-1"].devices
    assert device.request_names == ("req",)
    assert device.cdi_device_ids == ("example.com/gpu=uid-1",)
    assert device.share_id is None
    unprepared = client.unprepare([CLAIM], service=service)
    assert unprepared.claims["uid-1"].error == ""
    first, second = [entry.event for entry in node.timeline.entries(DraCall)]
    assert first.claims == ({"namespace": "default", "uid": "uid-1", "name": "claim-1"},)
    assert (first.service, first.method) == (service, "NodePrepareResources")
    assert first.response is not None
    assert first.response["uid-1"]["devices"][0]["pool_name"] == "node-1"
    assert second.response == {"uid-1": {"error": ""}}


def test_a_share_id_is_kept(node: Node) -> None:
    def answer(method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        made = method.response()
        made.claims["uid-1"].devices.add(pool_name="p", device_name="d", share_id="s-1")
        return made

    client = _client(node, node.plugin(answer=answer).start())
    reply = client.prepare([CLAIM], wait_for_ready=True)
    assert reply.claims["uid-1"].devices[0].share_id == "s-1"


def test_a_call_ends_at_its_deadline(node: Node) -> None:
    gate = threading.Event()
    node.stack.callback(gate.set)

    def answer(method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        gate.wait(10)
        return method.response()

    client = _client(node, node.plugin(answer=answer).start())
    assert client.connected(Deadline.after(10))
    assert client.prepare([CLAIM], timeout_s=0.1).code == "DEADLINE_EXCEEDED"


def test_a_deregistered_plugins_running_call_is_cancelled(node: Node) -> None:
    gate, called = threading.Event(), threading.Event()
    node.stack.callback(gate.set)

    def answer(method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        called.set()
        gate.wait(10)
        return method.response()

    plugin = node.plugin(answer=answer).start()
    kubelet = node.kubelet()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    codes: list[str] = []
    caller = threading.Thread(target=lambda: codes.append(kubelet.prepare(DRIVER, [CLAIM]).code))
    caller.start()
    assert called.wait(10)
    plugin.socket.unlink()
    caller.join(10)
    assert codes == ["CANCELLED"]


def test_a_closed_client_answers_cancelled(node: Node) -> None:
    client = _client(node, node.plugin().start())
    client.close()
    assert client.prepare([CLAIM]).code == "CANCELLED"
    assert not client.connected(Deadline.after(10))


def test_no_listener_is_unavailable_at_once(node: Node) -> None:
    client = _client(node, node.plugin())
    reply = client.prepare([CLAIM])
    assert (reply.code, dict(reply.claims)) == ("UNAVAILABLE", {})
    assert node.timeline.all()[reply.serial].event.code == "UNAVAILABLE"


def test_garbage_is_a_code_and_no_exception(node: Node) -> None:
    client = _client(node, node.plugin(answer=lambda *_: b"\x0a\xff").start())
    assert client.prepare([CLAIM], wait_for_ready=True).code == "INTERNAL"


def test_a_status_of_the_driver_is_passed_on(node: Node) -> None:
    def answer(method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        context.abort(grpc.StatusCode.NOT_FOUND, "no such claim")

    client = _client(node, node.plugin(answer=answer).start())
    reply = client.unprepare([CLAIM], wait_for_ready=True)
    assert (reply.code, reply.details) == ("NOT_FOUND", "no such claim")


def test_an_answer_beyond_the_limit_is_not_taken(node: Node) -> None:
    def answer(method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        made = method.response()
        made.claims["uid-1"].error = "x" * (17 << 20)
        return made

    client = _client(node, node.plugin(answer=answer).start())
    assert client.prepare([CLAIM], wait_for_ready=True).code == "RESOURCE_EXHAUSTED"


def test_a_long_answer_is_taken_whole_and_recorded_in_part(node: Node) -> None:
    def answer(method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        made = method.response()
        for number in range(3000):
            made.claims[f"uid-{number}"].error = "x" * 1000
        return made

    client = _client(node, node.plugin(answer=answer).start())
    reply = client.prepare([CLAIM], wait_for_ready=True)
    assert len(reply.claims) == 3000
    [call] = node.timeline.entries(DraCall)
    assert call.event.response is not None
    assert 900 < len(call.event.response) < 1100
    assert "in part" in call.event.details


def test_bounding_keeps_shapes() -> None:
    small, cut = bounded({"a": ["b", {"c": "d"}], "e": True})
    assert (small, cut) == ({"a": ["b", {"c": "d"}], "e": True}, False)
    text, cut = bounded({"a": "x" * 5000})
    assert cut
    assert text["a"].startswith("xxxx")
    assert len(text["a"]) < 5000
    many, cut = bounded({"a": [{"n": "y" * 100} for _ in range(2 * RECORDED_LIMIT // 100)]})
    assert cut
    assert all(set(entry) == {"n"} for entry in many["a"])


def test_an_unknown_service_is_the_callers_mistake(node: Node) -> None:
    with pytest.raises(ValueError, match=r"v1\.DRAPlugin"):
        _client(node, node.plugin()).prepare([], service="v2.DRAPlugin")


def test_an_unregistered_driver_is_unavailable_without_a_call(node: Node) -> None:
    kubelet = node.kubelet()
    reply = kubelet.unprepare("none.example.com", [CLAIM])
    assert reply.code == "UNAVAILABLE"
    assert "none.example.com is not registered" in reply.details
    assert node.timeline.entries(DraCall) == []


def test_the_slices_of_a_lost_driver_are_wiped_once(node: Node) -> None:
    plugin = node.plugin()
    dra = plugin.serve_dra()
    plugin.serve_registration()
    kubelet = node.kubelet()
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    dra.stop(None).wait(5)
    soon(lambda: node.wiped == [None, DRIVER])
    plugin.serve_dra()
    found = kubelet.plugin(DRIVER, Deadline.after(10))
    assert found is not None
    assert found.client.is_connected
    assert plugin.infos == 1


def test_a_connection_that_comes_back_in_time_cancels_the_wipe(node: Node) -> None:
    plugin = node.plugin()
    dra = plugin.serve_dra()
    plugin.serve_registration()
    kubelet = node.kubelet(settings=dataclasses.replace(SMALL, wipe_delay_s=3.0))
    found = kubelet.plugin(DRIVER, Deadline.after(10))
    assert found is not None
    dra.stop(None).wait(5)
    soon(lambda: not found.client.is_connected)
    plugin.serve_dra()
    soon(lambda: found.client.is_connected)
    assert node.wiped == [None]


def test_a_driver_that_never_connects_is_wiped(node: Node) -> None:
    node.plugin().serve_registration()
    node.kubelet()
    soon(lambda: node.wiped == [None, DRIVER])


def test_a_nameless_driver_that_leaves_takes_all_slices_along(node: Node) -> None:
    plugin = node.plugin(name="").start()
    kubelet = node.kubelet()
    soon(kubelet.plugins)
    plugin.stop()
    soon(lambda: node.wiped == [None, None])


def test_a_wipe_that_fails_is_tried_again(node: Node) -> None:
    tried: list[str | None] = []

    def wipe(driver: str | None) -> None:
        tried.append(driver)
        if len(tried) < 3:
            raise OSError("no API server")

    settings = dataclasses.replace(SMALL, wipe_delay_s=0.05, wipe_retry_s=0.05)
    wiper = SliceWiper(wipe=wipe, timeline=node.timeline, instance="A", settings=settings)
    wiper.start()
    node.stack.callback(wiper.stop)
    wiper.note(DRIVER, connected=False)
    soon(lambda: node.timeline.entries(Mark, where=lambda mark: mark.text.endswith("wiped")))
    assert tried == [DRIVER] * 3
    failed = node.timeline.entries(Mark, where=lambda mark: "no API server" in mark.text)
    assert len(failed) == 2


def test_only_the_dra_connection_is_made_again(node: Node) -> None:
    plugin = node.plugin()
    server = plugin.serve_dra()
    dra = _client(node, plugin)
    registration = RegistrationClient(
        plugin.endpoint, timeline=node.timeline, instance="A", settings=SMALL
    )
    node.stack.callback(registration.close)
    assert dra.connected(Deadline.after(10))
    assert registration.connected(Deadline.after(10))
    server.stop(None).wait(5)
    soon(lambda: not dra.is_connected and not registration.is_connected)
    plugin.serve_dra()
    assert dra.connected(Deadline.after(10))
    assert not registration.is_connected

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from pytest_dra.kubelet import Kubelet
from pytest_dra.kubelet import health
from pytest_dra.kubelet.health import health_service
from pytest_dra.timeline import HealthReport
from pytest_dra.timeline import StreamEvent
from pytest_dra.waiting import Deadline
from pytest_dra.wire import HEALTH_METHODS
from tests.kubelet.conftest import SMALL
from tests.kubelet.conftest import Node
from tests.kubelet.conftest import soon

DRIVER = "gpu.example.com"
V1 = "v1.DRAResourceHealth"
ALPHA = "v1alpha1.DRAResourceHealth"
BOTH = ("v1.DRAPlugin", ALPHA, V1)
QUICK = dataclasses.replace(SMALL, health_pause_s=0.05)


@pytest.mark.parametrize(
    ("kubernetes", "versions", "service"),
    [
        ("1.37", BOTH, V1),
        ("1.37", ("v1.DRAPlugin", ALPHA), ALPHA),
        ("1.37", ("v1.DRAPlugin", "v2.DRAResourceHealth"), None),
        ("1.36", ("v1.DRAPlugin",), ALPHA),
        ("1.35", BOTH, None),
        ("1.34", BOTH, None),
    ],
)
def test_the_watched_service_depends_on_version_and_advertisement(
    kubernetes: str, versions: tuple[str, ...], service: str | None
) -> None:
    assert health_service(kubernetes, versions) == service


def _registered(node: Node, watch: Any, *, kubernetes: str = "1.37") -> Kubelet:
    node.plugin(versions=BOTH, watch=watch).start()
    kubelet = node.kubelet(settings=QUICK, kubernetes=kubernetes)
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    return kubelet


def _events(node: Node, action: str) -> list[StreamEvent]:
    found = node.timeline.entries(StreamEvent, where=lambda event: event.action == action)
    return [entry.event for entry in found]


def test_reports_are_written_down_and_the_stream_is_opened_again(node: Node) -> None:
    def watch(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        made = HEALTH_METHODS[V1].response()
        device = made.devices.add(health=2, message="too hot", health_check_timeout_seconds=7)
        device.device.pool_name, device.device.device_name = "node-1", "gpu-0"
        yield made

    _registered(node, watch)
    soon(lambda: len(_events(node, "opened")) >= 3)
    assert {(event.service, event.code) for event in _events(node, "ended")} == {(V1, "OK")}
    report = node.timeline.entries(HealthReport)[0].event
    assert (report.driver, report.service, report.left_out) == (DRIVER, V1, 0)
    assert report.devices == (
        {
            "pool_name": "node-1",
            "device_name": "gpu-0",
            "health": 2,
            "last_updated_time": 0,
            "health_check_timeout_seconds": 7,
            "message": "too hot",
        },
    )


def test_unimplemented_ends_the_watching_on_1_37_and_not_on_1_36(node: Node) -> None:
    def watch(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        yield HEALTH_METHODS[V1].response()
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "no more")

    kubelet = _registered(node, watch)
    soon(lambda: _events(node, "ended"))
    soon(lambda: not [t for t in threading.enumerate() if t.name == "kubelet-health"])
    assert [event.code for event in _events(node, "ended")] == ["UNIMPLEMENTED"]
    kubelet.stop()
    older = node.kubelet(settings=QUICK, kubernetes="1.36")
    assert older.plugin(DRIVER, Deadline.after(10)) is not None
    soon(lambda: len(_events(node, "opened")) >= 3)


def test_deregistration_cancels_the_stream(node: Node) -> None:
    cancelled = threading.Event()

    def watch(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        context.add_callback(cancelled.set)
        yield HEALTH_METHODS[V1].response()
        cancelled.wait(10)

    plugin = node.plugin(versions=BOTH, watch=watch).start()
    kubelet = node.kubelet(settings=QUICK)
    assert kubelet.plugin(DRIVER, Deadline.after(10)) is not None
    soon(lambda: node.timeline.entries(HealthReport))
    plugin.socket.unlink()
    assert cancelled.wait(10)
    soon(lambda: _events(node, "ended"))
    assert len(_events(node, "opened")) == 1


def test_garbage_ends_a_stream_and_a_flood_is_written_down_in_part(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "MAX_REPORTS", 5)

    def watch(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        for _ in range(50):
            yield HEALTH_METHODS[V1].response()
        yield b"\xff\xff"

    _registered(node, watch)
    soon(lambda: _events(node, "ended"))
    assert _events(node, "ended")[0].code == "INTERNAL"
    assert len(node.timeline.entries(HealthReport)) == 5
    assert len(_events(node, "full")) == 1


def test_a_report_of_many_devices_says_how_many_are_left_out(node: Node) -> None:
    def watch(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        made = HEALTH_METHODS[V1].response()
        for number in range(3000):
            made.devices.add(message="x" * 1000).device.device_name = f"gpu-{number}"
        yield made

    _registered(node, watch)
    soon(lambda: node.timeline.entries(HealthReport))
    report = node.timeline.entries(HealthReport)[0].event
    assert len(report.devices) + report.left_out == 3000
    assert report.left_out > 1000

"""What a kubelet knows of the health of devices."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.kubelet import Clock
from pytest_dra.kubelet import devicehealth
from pytest_dra.kubelet.devicehealth import UNKNOWN
from pytest_dra.kubelet.devicehealth import DeviceHealth
from pytest_dra.kubelet.devicehealth import cut_message

DRIVER = "gpu.example.com"
KEY = ("pool", "gpu-0")


class _Turned(Clock):
    shows = 0.0

    def now(self) -> float:
        return self.shows


def report(name: str = "gpu-0", health: int = 1, **what: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "pool_name": "pool",
        "device_name": name,
        "health": health,
        "last_updated_time": 1000,
        "health_check_timeout_seconds": 0,
        "message": "",
    }
    return {**made, **what}


@pytest.mark.parametrize(("timeout", "lease_s"), [(0, 30.0), (-1, 30.0), (6, 6.0)])
def test_a_report_counts_for_its_timeout_from_when_it_came(timeout: int, lease_s: float) -> None:
    clock = _Turned()
    health = DeviceHealth(clock)
    assert health.of(DRIVER, KEY) == (UNKNOWN, "")
    assert health.report(DRIVER, [report(health_check_timeout_seconds=timeout)]) == {KEY}
    clock.shows = lease_s
    assert health.of(DRIVER, KEY) == ("Healthy", "")
    clock.shows = lease_s + 0.1
    assert health.of(DRIVER, KEY) == (UNKNOWN, "")


def test_only_what_is_new_is_a_change_and_of_two_entries_the_last_one_counts() -> None:
    health = DeviceHealth(_Turned())
    assert health.report(DRIVER, [report(), report(health=2, message="hot")]) == {KEY}
    assert health.of(DRIVER, KEY) == ("Unhealthy", "hot")
    assert health.report(DRIVER, [report(health=2, message="hot")]) == set()
    assert health.report(DRIVER, [report(health=7, message="hot")]) == {KEY}
    assert health.of(DRIVER, KEY) == (UNKNOWN, "hot")
    health.clear(DRIVER)
    assert health.of(DRIVER, KEY) == (UNKNOWN, "")


def test_a_device_that_is_left_out_is_forgotten_when_its_time_is_over() -> None:
    clock = _Turned()
    health = DeviceHealth(clock)
    health.report(DRIVER, [report(), report("gpu-1")])
    clock.shows = 20.0
    assert health.report(DRIVER, [report("gpu-1")]) == set()
    clock.shows = 31.0
    assert health.report(DRIVER, [report("gpu-1")]) == {KEY}
    assert health.report(DRIVER, [report("gpu-1")]) == set()


def test_a_driver_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devicehealth, "MAX_DEVICES", 2)
    health = DeviceHealth(_Turned())
    changed = health.report(DRIVER, [report(f"gpu-{number}") for number in range(5)])
    assert len(changed) == 2
    assert health.report(DRIVER, [report("gpu-1", health=2)]) == {("pool", "gpu-1")}


def test_a_long_message_is_cut_in_bytes_as_the_kubelet_does() -> None:
    assert cut_message("m" * 1024) == "m" * 1024
    assert cut_message("m" * 2000) == "m" * 1021 + "..."
    cut = cut_message("é" * 1000)
    assert cut == "é" * 510 + "\N{REPLACEMENT CHARACTER}..."
    assert len(cut.encode()) > 1024

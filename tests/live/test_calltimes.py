"""How long calls took, of what a kubelet counts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_dra.checks import latency
from pytest_dra.live.calltimes import PREPARE
from pytest_dra.live.calltimes import UNPREPARE
from pytest_dra.live.calltimes import CallTimes
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

LINE = (
    'dra_grpc_operations_duration_seconds_bucket{{driver_name="{driver}",grpc_status_code="{code}",'
    'method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/{method}",le="{le}"}} {count}\n'
)
NODES = ("node",)


class Kubelet:
    """Its metrics, in the place of a client; every node has the same."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str, str], tuple[int, int, int]] = {}

    def list(self, _: object) -> list[dict[str, Any]]:
        return [{"metadata": {"name": name}} for name in ("node", "other")]

    def text(self, _: str) -> str:
        return "# HELP x\n" + "".join(
            LINE.format(driver=driver, code=code, method=method, le=le, count=count)
            for (driver, code, method), counts in self.counts.items()
            for le, count in zip(("0.1", "39.99", "+Inf"), counts, strict=True)
        )


@pytest.fixture
def kubelet() -> Kubelet:
    return Kubelet()


def times(kubelet: Any) -> CallTimes:
    return CallTimes(kubelet, "gpu.example.com")


def test_what_was_counted_before_and_of_others_is_left_out(kubelet: Kubelet) -> None:
    kubelet.counts["gpu.example.com", "OK", PREPARE] = (2, 3, 3)
    made = times(kubelet)
    made.begin(*NODES)
    kubelet.counts["gpu.example.com", "OK", PREPARE] = (4, 5, 6)
    kubelet.counts["gpu.example.com", "Internal", PREPARE] = (0, 1, 1)
    kubelet.counts["nic.example.com", "OK", PREPARE] = (7, 7, 7)
    assert made.of(NODES, PREPARE) == {0.1: 2, 39.99: 3, math.inf: 4}


def test_a_restart_of_the_kubelet_loses_nothing(kubelet: Kubelet) -> None:
    made = times(kubelet)
    made.begin(*NODES)
    kubelet.counts["gpu.example.com", "OK", PREPARE] = (4, 4, 4)
    made.keep(NODES)
    kubelet.counts["gpu.example.com", "OK", PREPARE] = (1, 1, 1)
    assert made.of(NODES, PREPARE)[math.inf] == 5


def test_what_other_kubelets_had_counted_before_stays_known(kubelet: Kubelet) -> None:
    kubelet.counts["gpu.example.com", "OK", PREPARE] = (2, 2, 2)
    made = times(kubelet)
    made.begin()
    kubelet.counts["gpu.example.com", "OK", PREPARE] = (3, 3, 3)
    made.keep(NODES)
    kubelet.counts["gpu.example.com", "OK", PREPARE] = (3, 3, 3)
    assert made.of(["other"], PREPARE)[math.inf] - made.of([], PREPARE)[math.inf] == 1


def test_what_nobody_has_counted_is_not_judged(kubelet: Kubelet) -> None:
    with pytest.raises(UnsupportedEnvironment, match="no kubelet has counted"):
        times(kubelet).of(NODES, UNPREPARE)


def test_counted_calls_keep_to_their_budget_or_are_told() -> None:
    counts = {0.1: 98, 1.3: 99, 39.99: 100, math.inf: 100}
    latency.counts_must_be_short(counts, method=PREPARE, within_s=40.0, budget="prepare")
    latency.percentile_of_counts_must_be_within(counts, method=PREPARE, within_s=1.0)
    with pytest.raises(Violation) as late:
        latency.counts_must_be_short(counts, method=PREPARE, within_s=2.0, budget="prepare")
    assert late.value.got == "1 of 100 took longer than 1.3 s"
    with pytest.raises(Violation) as slow:
        latency.percentile_of_counts_must_be_within(counts, method=PREPARE, within_s=0.1)
    assert slow.value.got == "2 of them took longer than 0.10 s"

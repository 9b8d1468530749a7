"""Claims that have their devices already: binding conditions, node operations, other nodes."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from pytest_dra.allocator import Rules
from pytest_dra.allocator import rules
from pytest_dra.explaining import explain
from pytest_dra.explaining import text
from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import conditions
from pytest_dra.scheduling import subjects
from pytest_dra.scheduling.conditions import readiness
from pytest_dra.spec import Json
from tests.objects.sample import DRIVER
from tests.objects.sample import device_class
from tests.scheduling.sample import RULES
from tests.scheduling.sample import claim
from tests.scheduling.sample import gpu
from tests.scheduling.sample import gpus
from tests.scheduling.sample import node
from tests.scheduling.sample import pod
from tests.scheduling.sample import request

SINCE = "2026-11-30T12:00:00Z"
MOMENT = datetime.datetime(2026, 11, 30, 12, 5, tzinfo=datetime.timezone.utc)
LATER = MOMENT + datetime.timedelta(minutes=6)


def bound(name: str, devices: list[str], *states: Json, by: str = "", **more: Any) -> Json:
    """A claim with devices that have binding conditions, and what drivers say of them."""
    results = [
        {
            "request": "gpu", "driver": DRIVER, "pool": "node-a", "device": one,
            "bindingConditions": ["ready"], "bindingFailureConditions": ["broken"], **more,
        }
        for one in devices
    ]  # fmt: skip
    said = [
        {"driver": DRIVER, "pool": "node-a", "device": one, "conditions": _conditions(state)}
        for one, state in zip(devices, states, strict=False)
        if state
    ]
    selector = {"key": "metadata.name", "operator": "In", "values": ["node-a"]}
    allocation = {
        "devices": {"results": results},
        "allocationTimestamp": SINCE,
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [selector]}]},
    }
    status: Json = {"allocation": allocation, "devices": said}
    if by:
        status["reservedFor"] = [{"resource": "pods", "name": by, "uid": by}]
    return {**claim(name), "status": status}


def _conditions(state: Json) -> list[Json]:
    return [
        {"type": name, "status": value, "reason": "Told", "message": "so"}
        for name, value in state.items()
    ]


YES = {"ready": "True"}
NO = {"ready": "False"}
FAILS = {"ready": "False", "broken": "True"}


@pytest.mark.parametrize(
    ("states", "moment", "state"),
    [
        ((), MOMENT, conditions.WAITING),
        ((NO, NO), MOMENT, conditions.WAITING),
        ((YES, NO), MOMENT, conditions.WAITING),
        ((YES, YES), MOMENT, conditions.READY),
        ((YES, YES), LATER, conditions.READY),
        ((YES, NO), LATER, conditions.LATE),
        ((FAILS, YES), MOMENT, conditions.FAILED),
        ((YES, FAILS), MOMENT, conditions.FAILED),
        # The first device that is not ready decides.
        ((NO, FAILS), MOMENT, conditions.WAITING),
        (({}, FAILS), LATER, conditions.LATE),
    ],
)
def test_the_first_device_that_is_not_ready_decides_about_a_claim(
    states: tuple[Json, ...], moment: datetime.datetime, state: str
) -> None:
    found = readiness(bound("c", ["gpu-0", "gpu-1"], *states), moment)
    assert found.state == state
    assert bool(found.why) is (state != conditions.READY)


def test_devices_without_conditions_are_ready() -> None:
    plain = bound("c", ["gpu-0"], bindingConditions=[])
    assert readiness(plain, LATER).state == conditions.READY
    assert readiness(claim("c"), LATER).state == conditions.READY


def made(*objects: Json, moment: datetime.datetime = MOMENT, current: Rules = RULES) -> Scheduler:
    nodes = (node("node-a"), node("node-b"))
    slices = (gpus("node-a", [gpu("gpu-0")]), gpus("node-b", [gpu("gpu-0")]))
    cluster = Cluster([device_class(), *nodes, *slices, *objects])
    return Scheduler(cluster, current, clock=lambda: moment)


def told(scheduler: Scheduler) -> str:
    (one,) = scheduler.cluster.pods.values()
    return text(explain(scheduler, subjects.of_pod(one, scheduler.cluster)))


def test_a_claim_that_waits_keeps_its_node_and_says_for_what() -> None:
    scheduler = made(bound("c", ["gpu-0"], NO, by="p"), pod("p", "c"))
    decision = scheduler.decide(subjects.of_pod(pod("p", "c"), scheduler.cluster))
    assert decision.chosen is not None
    assert decision.chosen.node == "node-a"
    said = told(scheduler)
    assert "claim c waits for device gpu.example.com/node-a/gpu-0: binding condition ready" in said
    assert f"gives it up 10 minutes after {SINCE}" in said


@pytest.mark.parametrize(("state", "moment"), [(FAILS, MOMENT), (NO, LATER)])
def test_a_claim_that_cannot_be_bound_is_given_back(state: Json, moment: datetime.datetime) -> None:
    own = bound("c", ["gpu-0"], state, by="p")
    scheduler = made(own, pod("p", "c"), moment=moment)
    decision = scheduler.decide(subjects.of_pod(pod("p", "c"), scheduler.cluster))
    assert decision.chosen is None
    assert decision.given_back is own
    assert "Nobody else uses claim c" in told(scheduler)


def test_a_claim_that_others_use_is_kept() -> None:
    scheduler = made(bound("c", ["gpu-0"], FAILS, by="other"), pod("p", "c"))
    decision = scheduler.decide(subjects.of_pod(pod("p", "c"), scheduler.cluster))
    assert decision.given_back is None
    assert "Claim c is reserved for other" in told(scheduler)


def test_without_the_gate_conditions_of_devices_mean_nothing() -> None:
    current = rules("1.37", {"DRADeviceBindingConditions": False})
    scheduler = made(bound("c", ["gpu-0"], FAILS, by="p"), pod("p", "c"), current=current)
    assert scheduler.decide(subjects.of_pod(pod("p", "c"), scheduler.cluster)).chosen is not None


def test_claims_of_two_nodes_are_given_back_one_by_one() -> None:
    there = bound("d", ["gpu-0"], YES)
    there["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0][
        "values"
    ] = ["node-b"]
    here = bound("c", ["gpu-0"], YES)
    scheduler = made(here, there, pod("p", "c", "d"))
    decision = scheduler.decide(subjects.of_pod(pod("p", "c", "d"), scheduler.cluster))
    assert [one.why for one in decision.answers] == [
        "claim d is allocated for other nodes",
        "claim c is allocated for other nodes",
    ]
    assert decision.given_back is there


def test_devices_without_node_operations_need_a_kubelet_that_knows_of_them() -> None:
    own = bound("c", ["gpu-0"], YES, by="p", skipNodeOperations=["Prepare"])
    scheduler = made(own, pod("p", "c"))
    decision = scheduler.decide(subjects.of_pod(pod("p", "c"), scheduler.cluster))
    assert "DRAOptionalNodeOperations" in decision.answers[0].why
    scheduler.cluster.nodes["node-a"]["status"] = {
        "declaredFeatures": ["DRAOptionalNodeOperations"]
    }
    assert scheduler.decide(subjects.of_pod(pod("p", "c"), scheduler.cluster)).chosen is not None


def test_a_fresh_device_with_conditions_says_that_it_will_be_waited_for() -> None:
    conditional = gpu("gpu-1", bindingConditions=["attached"])
    slices = (gpus("node-c", [conditional]), node("node-c"))
    scheduler = made(*slices, claim("c"), pod("p", "c", nodeName="node-c"))
    assert "bound to its node when the driver says that attached is True" in told(scheduler)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (claim("c", request(deviceClassName="ghost")), "device class ghost does not exist"),
        ({**claim("c"), "metadata": {**claim("c")["metadata"], "deletionTimestamp": SINCE}},
         "claim c is being deleted"),
        (claim("c", {"name": "r"}), "of no kind that is known"),
    ],
)  # fmt: skip
def test_what_cannot_be_allocated_anywhere_waits_for_a_change(wanted: Json, why: str) -> None:
    scheduler = made(wanted, pod("p", "c"))
    decision = scheduler.decide(subjects.of_pod(pod("p", "c"), scheduler.cluster))
    assert decision.verdict == "nofit"
    assert why in decision.why
    assert decision.answers == ()
    assert why in told(scheduler)


def test_alternatives_wait_where_the_scheduler_does_not_know_them() -> None:
    wanted = claim("c", {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]})
    current = rules("1.36", {"DRAPrioritizedList": False})
    scheduler = made(wanted, pod("p", "c"), current=current)
    decision = scheduler.decide(subjects.of_pod(pod("p", "c"), scheduler.cluster))
    assert "DRAPrioritizedList is off" in decision.why

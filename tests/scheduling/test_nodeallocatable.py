"""Devices that take resources of their node.

Facts: functions ``calculateAndCheckNodeAllocatableResources`` and ``PodRequests`` of 1.37.2.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.allocator import rules
from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import podresources
from pytest_dra.scheduling import subjects
from pytest_dra.spec import Json
from tests.objects.sample import DRIVER
from tests.objects.sample import device_class
from tests.scheduling.sample import claim
from tests.scheduling.sample import gpu
from tests.scheduling.sample import gpus
from tests.scheduling.sample import node
from tests.scheduling.sample import pod
from tests.scheduling.sample import request

ON = rules("1.37", {"DRANodeAllocatableResources": True})


def offering(name: str, **amounts: str) -> Json:
    made = node(name)
    made["status"] = {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "10", **amounts}}
    return made


def asking(name: str, cpu: str = "1", *, level: Json | None = None, claims: str = "c") -> Json:
    made = pod(name, claims)
    container = made["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": cpu}, "claims": [{"name": claims}]}
    if level is not None:
        made["spec"]["resources"] = level
    return made


def decided(*objects: Json, on: bool = True, device: Json | None = None) -> list[Decision]:
    current = ON if on else rules("1.37")
    devices = [gpu("gpu-0", **(device or {})), gpu("gpu-1", **(device or {}))]
    shown = [gpus("node-a", devices), offering("node-a")]
    scheduler = Scheduler(Cluster([device_class(), *shown, *objects]), current)
    found = []
    for one in subjects.pending(scheduler.cluster):
        found.append(scheduler.decide(one))
        scheduler.accept(found[-1])
    return found


def taking(**resources: Any) -> Json:
    return {"nodeAllocatableResources": resources}


def mapped(amount: str) -> Json:
    return taking(cpu={"mapping": {"deviceMultiplier": amount}})


@pytest.mark.parametrize(
    ("amount", "cpu", "fits"),
    [("4", "4", True), ("4", "4001m", False), ("8", "0", True), ("9", "0", False)],
)
def test_what_devices_stand_for_is_added_to_what_the_pod_asks_for(
    amount: str, cpu: str, *, fits: bool
) -> None:
    (one,) = decided(claim("c"), asking("p", cpu), device=mapped(amount))
    assert (one.chosen is not None) is fits
    if not fits:
        assert "too little cpu with what devices take of it" in one.why


def test_without_the_gate_devices_take_nothing() -> None:
    (one,) = decided(claim("c"), asking("p"), device=mapped("9"), on=False)
    assert one.chosen is not None
    assert one.chosen.taken == ()


def test_the_pod_says_what_its_claims_take_and_which_containers_use_them() -> None:
    device = taking(
        cpu={"mapping": {"deviceMultiplier": "500m"}, "overhead": {"perContainer": "100m"}},
        memory={"overhead": {"perPod": "1Gi", "perContainer": "256Mi"}},
    )
    (one,) = decided(claim("c", request(count=2)), asking("p"), device=device)
    assert one.chosen is not None
    assert one.chosen.taken == (
        {
            "resourceClaimName": "c",
            "containers": ["main"],
            "mapping": [{"name": "cpu", "quantity": "1"}],
            "overhead": [
                {"name": "cpu", "perContainer": "200m"},
                {"name": "memory", "perPod": "2Gi", "perContainer": "512Mi"},
            ],
        },
    )


def test_what_placed_pods_take_counts_for_the_next_one() -> None:
    objects = [claim("c"), claim("d"), asking("p"), asking("q", claims="d")]
    first, second = decided(*objects, device=mapped("4"))
    assert first.chosen is not None
    assert second.chosen is None
    assert "too little cpu" in second.why


def test_consumed_capacity_is_multiplied() -> None:
    device = {
        "allowMultipleAllocations": True,
        **taking(cpu={"mapping": {"capacityKey": "memory", "capacityMultiplier": "500m"}}),
    }
    wants = claim("c", request(capacity={"requests": {"memory": "3"}}))
    (one,) = decided(wants, asking("p"), device=device)
    assert one.chosen is not None
    assert one.chosen.taken[0]["mapping"] == [{"name": "cpu", "quantity": "1500m"}]


def test_a_capacity_that_is_not_consumed_is_an_error() -> None:
    device = taking(cpu={"mapping": {"capacityKey": "memory"}})
    (one,) = decided(claim("c"), asking("p"), device=device)
    assert one.verdict == "fatal"
    assert "no capacity is consumed" in one.why


@pytest.mark.parametrize(
    ("level", "why"),
    [
        ({"requests": {"cpu": "4"}}, "the pod's own request for cpu does not cover"),
        ({"requests": {"cpu": "5"}}, ""),
        ({"requests": {"cpu": "5"}, "limits": {"cpu": "5"}}, ""),
        ({"requests": {"example.com/x": "1"}}, ""),
    ],
)
def test_what_a_pod_has_as_a_whole_covers_its_devices(level: Json, why: str) -> None:
    (one,) = decided(claim("c"), asking("p", level=level), device=mapped("4"))
    assert (one.chosen is None) is bool(why)
    assert why in one.why or not why


def test_limits_of_a_container_count_with_its_devices() -> None:
    wants = asking("p", level={"limits": {"cpu": "4"}})
    wants["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "1"}
    (one,) = decided(claim("c"), wants, device=mapped("4"))
    assert "does not cover the devices of container main" in one.why


def held(*, by: str) -> Json:
    result = {"request": "gpu", "driver": DRIVER, "pool": "node-a", "device": "gpu-0"}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": by, "uid": by}],
    }
    return {**claim("c"), "status": status}


def test_a_claim_of_mapped_devices_is_for_one_pod_alone() -> None:
    (one,) = decided(held(by="other"), asking("p"), device=mapped("1"))
    assert "one pod can use it" in one.why
    beside = taking(cpu={"overhead": {"perPod": "1"}})
    assert decided(held(by="other"), asking("p"), device=beside)[0].chosen is not None
    assert decided(held(by="p"), asking("p"), device=mapped("1"))[0].chosen is not None


def test_pages_of_memory_count_too() -> None:
    pages = {"hugepages-2Mi": {"mapping": {"deviceMultiplier": "4Mi"}}}
    (one,) = decided(claim("c"), asking("p"), device={"nodeAllocatableResources": pages})
    assert "too little hugepages-2Mi" in one.why


def test_sidecars_and_init_containers_make_the_peak() -> None:
    def container(cpu: str, **more: Any) -> Json:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    early = [container("1", restartPolicy="Always"), container("5"), container("1")]
    made = {"spec": {"initContainers": early, "containers": [container("2")]}}
    assert podresources.of_containers(made) == {"cpu": 6 * 10**9}
    made["spec"]["initContainers"] = early[1:]
    assert podresources.of_containers(made) == {"cpu": 5 * 10**9}

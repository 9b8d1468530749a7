"""Who writes a pool of no node beside whom, and what a bench says of a driver without devices."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

from pytest_dra.bench.offer import nothing_offered
from pytest_dra.bench.replugging import count_on
from pytest_dra.bench.writing import writers_at_once
from pytest_dra.profile import DEFAULT_PROFILE
from pytest_dra.profile import Hardware
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import Timeline
from tests.bench_parts.requests import api_request

A, B = "user-a", "user-b"
PLACES = {A: "node-a", B: "node-b"}


DRIVER = "gpu.example.com"
SHARED = f"{DRIVER}/shared"


def a_slice(node: str = "", devices: int = 1, driver: str = DRIVER) -> Json:
    choice: Json = {"nodeName": node} if node else {"allNodes": True}
    return {
        "metadata": {"name": f"slice-of-{node or 'all'}"},
        "spec": {
            "driver": driver,
            "pool": {"name": node or "shared", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{n}"} for n in range(devices)],
            **choice,
        },
    }


def write(user: str, *, node: str = "", verb: str = "create", driver: str = DRIVER) -> ApiRequest:
    return api_request(verb, user=user, body=a_slice(node, driver=driver), code=201)


def life(instance: str, action: str) -> ProcessEvent:
    return ProcessEvent(
        instance=instance, component="driver", action=action, pid=1, exit_code=None, detail=""
    )


def found(*events: Any) -> dict[str, set[str]]:
    timeline = Timeline()
    for event in events:
        timeline.add(event)
    bench: Any = SimpleNamespace(timeline=timeline, places=PLACES)
    return writers_at_once(bench)


def test_two_that_write_one_pool_while_both_run_are_told_together() -> None:
    assert found(life("a", "start"), write(A), life("b", "start"), write(B)) == {SHARED: {A, B}}
    assert found(write(A), write(B), life("a", "exit"), write(B)) == {SHARED: {A, B}}


def test_who_takes_over_from_a_process_that_has_ended_writes_alone() -> None:
    for end in ("exit", "kill"):
        assert found(write(A), life("a", end), write(B)) == {SHARED: {A}}
    assert found(write(A), life("b", "exit"), write(B)) == {SHARED: {A, B}}


def test_pools_of_two_drivers_are_two_whatever_they_are_called() -> None:
    other = "nic.example.com"
    both = {SHARED: {A}, f"{other}/shared": {B}}
    assert found(write(A), write(B, driver=other)) == both


def test_pools_of_a_node_and_requests_that_write_nothing_do_not_count() -> None:
    assert found(write(A, node="node-a"), write(B, node="node-b")) == {}
    assert found(write(A, verb="list"), write("somebody")) == {}


def test_devices_of_no_node_do_not_count_beside_those_of_the_node() -> None:
    shared = a_slice(devices=2)
    assert count_on("node-a", [a_slice("node-a", devices=3), shared]) == 3
    assert count_on("node-a", [shared]) == 2


def test_without_devices_a_case_is_blocked_unless_the_profile_says_that_there_are_none() -> None:
    assert isinstance(nothing_offered(DEFAULT_PROFILE), Blocked)
    launch = dataclasses.replace(DEFAULT_PROFILE.launch, hardware=Hardware.NONE)
    said = nothing_offered(dataclasses.replace(DEFAULT_PROFILE, launch=launch))
    assert isinstance(said, UnsupportedEnvironment)
    assert str(said) == "needs devices, and launch.hardware is none"

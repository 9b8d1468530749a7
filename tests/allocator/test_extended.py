"""Requests that a scheduler makes of extended resources."""

from __future__ import annotations

from typing import Any

from pytest_dra.allocator.extended import class_of
from pytest_dra.allocator.extended import requests_of

Json = dict[str, Any]


def of_class(name: str, resource: str | None = None, made: str = "") -> Json:
    spec = {"extendedResourceName": resource} if resource else {}
    return {"metadata": {"name": name, "creationTimestamp": made}, "spec": spec}


def container(name: str, amounts: Json, **more: Any) -> Json:
    return {"name": name, "resources": {"requests": amounts}, **more}


def counts(requests: list[Json]) -> dict[str, int]:
    return {one["name"]: one["exactly"]["count"] for one in requests}


GPU = of_class("gpu", "example.com/gpu")


def test_a_container_gets_a_request_numbered_among_all_that_it_asks_for() -> None:
    amounts = {"cpu": "1", "example.com/gpu": "2", "memory": "1Gi"}
    pod = {"spec": {"containers": [container("a", amounts)]}}
    requests, mappings = requests_of(pod, [GPU])
    assert requests == [
        {
            "name": "container-0-request-1",
            "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2},
        }
    ]
    assert mappings == [
        {
            "containerName": "a",
            "resourceName": "example.com/gpu",
            "requestName": "container-0-request-1",
        }
    ]


def test_the_newest_class_that_names_a_resource_wins_then_the_first_name() -> None:
    old = of_class("a", "example.com/gpu", "2026-01-01T00:00:00Z")
    new = of_class("c", "example.com/gpu", "2026-02-01T00:00:00Z")
    also = of_class("b", "example.com/gpu", "2026-02-01T00:00:00Z")
    assert class_of("example.com/gpu", [old, new, also]) is also
    assert class_of("deviceclass.resource.kubernetes.io/a", [new, old]) is old
    assert class_of("example.com/nic", [old]) is None


def test_init_containers_use_what_the_later_ones_have_and_share_the_rest() -> None:
    amount = "example.com/gpu"
    pod = {
        "spec": {
            "initContainers": [
                container("one", {amount: "1"}),
                container("five", {amount: "5"}),
                container("side", {amount: "1"}, restartPolicy="Always"),
                container("six", {amount: "6"}),
            ],
            "containers": [container("main", {amount: "2"})],
        }
    }
    requests, mappings = requests_of(pod, [GPU])
    assert counts(requests) == {
        "container-2-request-0": 1, "container-3-request-0": 4, "container-4-request-0": 2,
    }  # fmt: skip
    used = [(one["containerName"], one["requestName"]) for one in mappings]
    assert ("one", "container-2-request-0") in used
    assert ("five", "container-3-request-0") in used


def test_resources_that_the_node_serves_itself_are_left_out() -> None:
    pod = {"spec": {"containers": [container("a", {"example.com/gpu": "1"})]}}
    assert requests_of(pod, [GPU], resources=()) == ([], [])
    assert counts(requests_of(pod, [GPU], resources=["example.com/gpu"])[0]) == {
        "container-0-request-0": 1
    }

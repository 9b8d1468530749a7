"""Components for a number of devices, and what happened to slices."""

from __future__ import annotations

from pytest_dra.bench import history
from pytest_dra.bench.family import equipped
from pytest_dra.launch import Component
from pytest_dra.profile.model import Inventory
from pytest_dra.spec import Json
from pytest_dra.timeline import Timeline
from tests.bench_parts.requests import api_request


def test_the_first_component_that_registers_gets_the_number_of_devices() -> None:
    controller = Component(name="controller", command=("c",), registers=False)
    plugin = Component(name="plugin", command=("p",), env={"A": "1"})
    inventory = Inventory(arguments=("--devices={devices}",), env={"COUNT": "{devices}"})
    first, second = equipped([controller, plugin], inventory, 7)
    assert first == controller
    assert second.command == ("p", "--devices=7")
    assert second.env == {"A": "1", "COUNT": "7"}


def named(name: str) -> Json:
    return {"metadata": {"name": name}}


def test_slices_are_followed_through_writes_and_deletions_of_all_kinds() -> None:
    timeline = Timeline()
    timeline.add(api_request("create", "", answer=named("a")))
    timeline.add(api_request("create", "", answer=named("b")))
    timeline.add(api_request("create", "", code=422, answer=named("c")))
    timeline.add(api_request("list", "", answer={"items": [named("z")]}))
    timeline.add(api_request("delete", "a"))
    timeline.add(api_request("deletecollection", "", answer={"items": [named("b"), named("x")]}))
    found = list(history.steps(timeline))
    assert [step.names for step in found] == [("a",), ("b",), ("a",), ("b",)]
    assert [sorted(step.after) for step in found] == [["a"], ["a", "b"], ["b"], []]
    assert sorted(found[2].before) == ["a", "b"]

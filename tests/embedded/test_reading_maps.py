"""Maps of small objects (attributes, capacities) are read as everything else is."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.embedded import typed
from pytest_dra.spec import Json
from tests.embedded.client import SLICES
from tests.embedded.client import Client
from tests.embedded.client import slice_


def _device(**fields: Any) -> Json:
    return slice_(devices=[{"name": "d", **fields}])


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"int": 2**63 - 1}, {"int": 2**63 - 1}),
        ({"int": 0}, {"int": 0}),
        ({"bool": False}, {"bool": False}),
        ({"string": ""}, {"string": ""}),
        ({"int": None}, {}),
        ({"int": 1, "bool": True}, {"int": 1, "bool": True}),
        ({"nobody": 1}, {}),
        (None, {}),
    ],
)
def test_an_attribute_is_what_was_sent(sent: Any, read: Json) -> None:
    notes = typed.Notes()
    obj = typed.read("resource.ResourceSlice", _device(attributes={"a": sent}), notes)
    assert obj["spec"]["devices"][0]["attributes"] == {"a": read}
    wanted = ["spec.devices[0].attributes.a.nobody"] if sent == {"nobody": 1} else []
    assert [each for each in notes.unknown if each.startswith("spec")] == wanted


@pytest.mark.parametrize("sent", [{"int": 2**63}, {"int": True}, {"int": "1"}, {"bool": 1}, 5, []])
def test_an_attribute_of_the_wrong_type_is_named(sent: Any) -> None:
    with pytest.raises(typed.DecodeError, match=r"spec\.devices\[0\]\.attributes\.a"):
        typed.read("resource.ResourceSlice", _device(attributes={"a": sent}), typed.Notes())


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"value": "1024Mi"}, {"value": "1Gi"}),
        ({"value": 5}, {"value": "5"}),
        ({}, {"value": "0"}),
        ({"value": None}, {"value": "0"}),
    ],
)
def test_a_capacity_is_canonical(sent: Json, read: Json) -> None:
    body = _device(capacity={"m": sent})
    obj = typed.read("resource.ResourceSlice", body, typed.Notes())
    assert obj["spec"]["devices"][0]["capacity"] == {"m": read}


def test_names_that_are_written_twice_are_noticed_in_maps_as_well(client: Client) -> None:
    head = '{"metadata":{"name":"s"},"spec":{"driver":"d.example.com","nodeName":"n",'
    pool = '"pool":{"name":"n","resourceSliceCount":1},'
    twice = '"devices":[{"name":"d","attributes":{"a":{"int":1},"a":{"int":2}}}]}}'
    answer = client.send("POST", f"{SLICES}?fieldValidation=Strict", (head + pool + twice).encode())
    assert answer.code == 400
    assert "duplicate field" in answer.json["message"]


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("a", {"string": "x" * 65}, "spec.devices[0].attributes[a].string"),
        ("a", {"string": "é" * 33}, "spec.devices[0].attributes[a].string"),
        ("a", {"version": "1"}, "spec.devices[0].attributes[a].version"),
        ("a", {"int": 1, "bool": True}, "spec.devices[0].attributes[a]"),
        ("a", {}, "spec.devices[0].attributes[a]"),
        ("1", {"int": 1}, "spec.devices[0].attributes"),
    ],
)
def test_a_wrong_attribute_is_refused_each_time(
    client: Client, name: str, value: Json, field: str
) -> None:
    for _ in range(2):
        answer = client.post(SLICES, _device(attributes={name: value}))
        assert answer.code == 422
        assert field in {each for each, _ in answer.causes}

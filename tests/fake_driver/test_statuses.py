"""Entries of devices in the status of claims: whose they are, and what stays in them."""

from __future__ import annotations

from typing import Any

from pytest_dra.fake_driver.binder import changed
from pytest_dra.fake_driver.statuses import READY
from pytest_dra.fake_driver.statuses import condition
from pytest_dra.fake_driver.statuses import merged
from pytest_dra.fake_driver.statuses import without_times

MINE = {"driver": "fake.dra.example", "pool": "p", "device": "a"}
OTHER = {"driver": "other.example.com", "pool": "p", "device": "a", "conditions": []}


def entry(*kinds: str, **more: Any) -> dict[str, Any]:
    """An entry with these conditions."""
    return {**MINE, "conditions": [condition(kind, reason="R") for kind in kinds], **more}


def kinds(found: dict[str, Any] | None) -> list[str]:
    """The types of its conditions."""
    return [each["type"] for each in (found or {})["conditions"]]


def test_what_is_told_replaces_its_own_kind_and_keeps_others() -> None:
    told = entry(READY, networkData={"interfaceName": "net0"})
    assert kinds(merged(None, told)) == [READY]
    both = merged(entry("attached", READY), told)
    assert both is not None
    assert kinds(both) == ["attached", READY]
    assert both["networkData"] == {"interfaceName": "net0"}


def test_what_is_told_no_more_goes_with_its_entry_unless_that_has_more() -> None:
    assert merged(entry(READY, data={"link": "up"}), None) is None
    left = merged(entry("attached", READY, data={"link": "up"}, shareID="s"), None)
    assert left is not None
    assert kinds(left) == ["attached"]
    assert (left.get("data"), left["shareID"]) == (None, "s")


def test_conditions_are_written_into_the_entry_of_their_device_alone() -> None:
    result = {**MINE, "request": "r", "bindingConditions": ["attached"]}
    told = [condition("attached", reason="Attached")]
    first = changed([OTHER], result, told)
    assert first[0] == OTHER
    assert without_times(first[1:]) == without_times([{**MINE, "conditions": told}])
    again = changed(first, result, [condition("configured", reason="Attached")])
    assert again[0] == OTHER
    assert kinds(again[1]) == ["attached", "configured"]


def test_a_share_has_an_entry_of_its_own() -> None:
    result = {**MINE, "shareID": "s"}
    found = changed([entry(READY)], result, [condition("attached", reason="Attached")])
    assert [each.get("shareID") for each in found] == [None, "s"]


def test_times_alone_are_no_difference() -> None:
    early = {**condition(READY, reason="R"), "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert without_times([{**MINE, "conditions": [early]}]) == without_times([entry(READY)])
    late = condition(READY, value=False, reason="R")
    assert without_times([{**MINE, "conditions": [late]}]) != without_times([entry(READY)])

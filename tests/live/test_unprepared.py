"""Devices that need no plugin: which they are, how one is asked for, and what shows it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.cel.environments import environment
from pytest_dra.checks.selecting import Shown
from pytest_dra.checks.selecting import selectors_of
from pytest_dra.checks.selecting import shown
from pytest_dra.live.unprepared import probe_for
from pytest_dra.live.unprepared import skips
from pytest_dra.profile.model import Probe

DRIVER = "fake.dra.example"
ENVIRONMENT = environment(37, stored=True)
PROBE = Probe(command=("list",), expect={"gpu": 1}, always={"entropy": 1})


def devices(*kinds: str, **fields: Any) -> list[Shown]:
    made = [
        {"name": f"{kind}-{n}", "attributes": {"kind": {"string": kind}, "index": {"int": n}}}
        for n, kind in enumerate(kinds)
    ]
    spec = {"driver": DRIVER, "nodeName": "a", "pool": {"name": "a"}, "devices": made, **fields}
    return shown([{"metadata": {"name": "s"}, "spec": spec}], ENVIRONMENT)


@pytest.mark.parametrize(
    "operations",
    [["*"], ["NodeUnprepareResources", "NodePrepareResources"], ["*", "Later"]],
)
def test_devices_need_no_plugin_where_both_calls_are_skipped(operations: list[str]) -> None:
    (one,) = devices("gpu", skipNodeOperations=operations)
    assert skips(one.item)


def test_devices_of_which_one_call_is_made_need_the_plugin() -> None:
    for operations in ([], ["NodeUnprepareResources"], ["Later"]):
        (one,) = devices("gpu", skipNodeOperations=operations)
        assert not skips(one.item)


def test_a_kind_that_nobody_injects_shows_in_every_container() -> None:
    assert probe_for(PROBE, devices("entropy"), kind_attribute="kind").expect == {"entropy": 1}
    assert probe_for(PROBE, devices("gpu"), kind_attribute=f"{DRIVER}/kind") is PROBE
    assert probe_for(PROBE, devices("entropy"), kind_attribute="") is PROBE


def test_selectors_tell_one_device_from_all_others() -> None:
    wanted, others = devices("gpu", "gpu")[1:], devices("gpu", "nic")[:1]
    place = f'device.attributes["{DRIVER}"]["index"]'
    assert selectors_of(wanted, others, ENVIRONMENT) == (f"{place} == 1",)
    assert selectors_of(wanted, [], ENVIRONMENT) == ()
    assert selectors_of(devices("gpu"), devices("gpu"), ENVIRONMENT) is None

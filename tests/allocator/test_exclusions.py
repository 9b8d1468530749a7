"""Why a device cannot be had: the first reason, in the scheduler's own order."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dra.allocator import State
from pytest_dra.allocator import rules
from pytest_dra.allocator.exclusions import REASONS
from pytest_dra.allocator.exclusions import exclusions
from tests.allocator.objects import DRIVER
from tests.allocator.objects import NODE
from tests.allocator.objects import Json
from tests.allocator.objects import attempt
from tests.allocator.objects import claim
from tests.allocator.objects import counted
from tests.allocator.objects import device
from tests.allocator.objects import pool
from tests.allocator.objects import request
from tests.allocator.objects import takes

NUMA = f'device.attributes["{DRIVER}"].numa == 0'


def reasons(slices: list[Json], wanted: Json, **more: Any) -> dict[str, str]:
    made = attempt(slices, claim(wanted), **more)
    return {one.device: one.reason for one in exclusions(made, NODE)}


def test_each_device_has_the_first_reason_that_rules_it_out() -> None:
    policy = {"requestPolicy": {"validValues": ["1"]}}
    devices = [
        device("free", {"numa": 0}, capacity={"mem": {"value": "4"}}),
        device("held", {"numa": 0}),
        device("other", {"numa": 1}),
        device("silent"),
        device("tainted", {"numa": 0}, capacity={"mem": {"value": "4"}},
               taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
        device("unknown", {"numa": 0}),
        device("small", {"numa": 0}, capacity={"mem": {"value": "1"}}),
        device("strict", {"numa": 0}, capacity={"mem": {"value": "4", **policy}}),
    ]  # fmt: skip
    state = State(rules())
    held = {"request": "r", "driver": DRIVER, "pool": "p", "device": "held"}
    state.add({"devices": {"results": [held]}})
    wanted = request("r", 1, NUMA, capacity={"requests": {"mem": "2"}})
    assert reasons([pool("p", devices)], wanted, state=state) == {
        "free": "",
        "held": "in-use-exclusive",
        "other": "request-selector",
        "silent": "cel-error",
        "tainted": "taint",
        "unknown": "capacity-unknown",
        "small": "capacity-exhausted",
        "strict": "capacity-policy",
    }


def test_counters_and_pools_are_reasons() -> None:
    devices = [
        device("small", consumesCounters=takes("2")), device("large", consumesCounters=takes("9"))
    ]  # fmt: skip
    slices = counted(devices, "8")
    assert reasons(slices, request("r")) == {"small": "", "large": "counter"}
    assert reasons(slices[:1], request("r")) == {"": "pool-incomplete"}
    twice = [pool("p", [device("a"), device("a")])]
    assert reasons(twice, request("r")) == {"": "pool-invalid"}


def test_an_attribute_that_a_constraint_needs_is_a_reason() -> None:
    slices = [pool("p", [device("a", {"numa": 0}), device("b")])]
    same = [{"matchAttribute": f"{DRIVER}/numa"}]
    made = attempt(slices, claim(request("r"), constraints=same))
    found = {one.device: (one.reason, one.number) for one in exclusions(made, NODE)}
    assert found == {"a": ("", -1), "b": ("constraint-missing-attribute", 0)}


@pytest.mark.parametrize("gate", ["DRADeviceBindingConditions", "DRAPartitionableDevices"])
def test_gates_that_are_off_are_reasons(gate: str) -> None:
    current = rules("1.37", {gate: False})
    slices = [pool("p", [device("a", bindingConditions=["ready"])])]
    counting = [pool("p", [device("a", consumesCounters=takes("2"))])]
    expected = {"DRADeviceBindingConditions": (slices, "binding-gate")}
    shown, reason = expected.get(gate, (counting, "counter-gate"))
    assert reasons(shown, request("r"), current=current) == {"a": reason}
    assert reason in REASONS

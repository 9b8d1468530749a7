"""Generated code and remembered results agree with the evaluation step by step."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_dra.cel import CelError
from pytest_dra.cel import CompileError
from pytest_dra.cel import Prepared
from pytest_dra.cel import Selector
from pytest_dra.cel import environment
from pytest_dra.cel import prepare
from pytest_dra.cel.environments import MINORS
from tests.upstream import celgrammar

LOOK = 'device.attributes["gpu.example.com"]'
ROOM = 'device.capacity["gpu.example.com"]'
CONDITIONS = (
    'device.driver == "gpu.example.com"',
    f'{LOOK}.model == "A100"',
    f'{LOOK}.model in ["A100", "a"]',
    f"{LOOK}.numa == 1",
    f"{LOOK}.numa > 0",
    f"{LOOK}.healthy",
    f"!{LOOK}.healthy",
    f'{LOOK}.driverVersion.isGreaterThan(semver("1.2.3"))',
    f'{LOOK}.driverVersion.compareTo(semver("2.0.0")) < 0',
    f'{ROOM}.memory.compareTo(quantity("40Gi")) >= 0',
    f'{ROOM}.memory.isLessThan(quantity("1"))',
    f'{LOOK}.?model.orValue("none") == "none"',
    f"has({LOOK}.model)",
    '"gpu.example.com" in device.attributes',
    '"model" in device.attributes["gpu.example.com"]',
    'device.attributes["no"].model == 1',
    "device.allowMultipleAllocations",
    f'{LOOK}.model.startsWith("A")',
    f'{LOOK}.roots.exists(x, x == "a")',
    f'{LOOK}.firmware == "A100"',
    'device.attributes["pci.example.org"].numa != 7',
)


def answers(found: list[bool | CelError]) -> list[object]:
    return [one.kind if isinstance(one, CelError) else one for one in found]


def exact(selector: Selector, devices: list[Prepared]) -> list[object]:
    outcomes = [selector.evaluate(device) for device in devices]
    return [one.error.kind if one.error else one.value for one in outcomes]


def some_devices(seed: int, count: int) -> list[Prepared]:
    chooser = random.Random(seed)  # noqa: S311 - repeatable, not secret
    devices = [celgrammar.device(chooser) for _ in range(count)]
    return prepare((device.pop("driver", ""), device) for device in devices)


@pytest.mark.parametrize("minor", MINORS)
@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=4),
    joints=st.lists(st.sampled_from(("&&", "||")), min_size=3, max_size=3),
    seed=st.integers(0, 2**32),
)
def test_conditions_on_many_devices(
    minor: int, parts: list[str], joints: list[str], seed: int
) -> None:
    text = parts[0]
    for joint, part in zip(joints, parts[1:], strict=False):
        text = f"({text} {joint} {part})"
    try:
        selector = Selector(text, environment(minor))
    except CompileError:
        return
    devices = some_devices(seed, 12)
    assert answers(selector.matches(devices)) == exact(selector, devices)
    # Once more, from memory where there is one.
    assert answers(selector.matches(devices)) == exact(selector, devices)


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_expressions_of_the_whole_grammar(seed: int) -> None:
    question = celgrammar.question(seed)
    try:
        selector = Selector(question["expression"], environment(37))
    except CompileError:
        return
    devices = some_devices(seed, 4)
    found = selector.matches(devices)
    if "device.attributes" not in question["expression"]:
        # Whoever walks over all attributes meets them in any order.
        assert answers(found) == exact(selector, devices)


def test_devices_that_differ_in_type_only_are_not_taken_for_each_other() -> None:
    shapes: list[dict[str, object]] = [{"int": 1}, {"bool": True}, {"string": "1"}]
    devices = prepare(("d", {"attributes": {"a": shape}}) for shape in shapes)
    for text in ('device.attributes["d"].a == 1', 'string(device.attributes["d"].a) == "1"'):
        selector = Selector(text)
        assert answers(selector.matches(devices)) == exact(selector, devices)


def test_a_device_that_fails_every_expression_fails_alone() -> None:
    good, bad = {"a": {"int": 1}}, {"a": {"version": "1"}}
    devices = prepare(("d", {"attributes": shape}) for shape in (good, bad, good))
    found = Selector('device.attributes["d"].a == 1').matches(devices)
    assert answers(found) == [True, "attribute-version", True]


@pytest.mark.parametrize(
    "device",
    [{"attributes": [1]}, {"attributes": {1: {"int": 1}}}, {"attributes": {"a": 1}},
     {"attributes": {"a": {"int": 2**70}}}, {"attributes": {"a": {"strings": "x"}}},
     {"capacity": "x"}, {"capacity": {"a": {"value": "1q"}}}, {"capacity": {"a": {"value": [1]}}},
     {"attributes": {"a": {"int": True}}}],
)  # fmt: skip
def test_a_device_of_another_form_is_an_error_and_no_exception(device: dict[str, object]) -> None:
    for text in ("true", 'device.attributes["d"].a == 1', "[1].exists(x, x == 1)"):
        (found,) = Selector(text).matches(prepare([("d", device)]))
        assert isinstance(found, CelError)

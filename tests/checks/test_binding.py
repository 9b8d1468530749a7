"""Judgements of conditions for which a pod's binding waits."""

from __future__ import annotations

import pytest

from pytest_dra.checks import binding
from pytest_dra.checks.claim_status import key_of
from pytest_dra.spec import Json
from tests.checks.raising import Said
from tests.checks.raising import said

RESULT = {
    "request": "r", "driver": "d", "pool": "p", "device": "a",
    "bindingConditions": ["one", "two"], "bindingFailureConditions": ["bad", "worse"],
}  # fmt: skip
WHAT = "a claim"


def told(device: str = "a", **conditions: str) -> Json:
    """A claim with these conditions in the entry of a device."""
    made = [{"type": kind, "status": status} for kind, status in conditions.items()]
    entry = {"driver": "d", "pool": "p", "device": device, "conditions": made}
    return {"status": {"devices": [entry]}}


def _met(claim: Json) -> Said | None:
    return said(lambda: binding.all_must_be_met(claim, RESULT, within_s=5, what=WHAT))


def test_conditions_that_are_all_true_are_let_pass() -> None:
    assert _met(told(one="True", two="True", other="False")) is None


@pytest.mark.parametrize(
    ("claim", "got", "missing"),
    [
        ({}, "no condition in status.devices", "one, two"),
        (told(one="True", two="Unknown"), {"one": "True", "two": "Unknown"}, "two"),
        (told("b", one="True", two="True"), "no condition in status.devices", "one, two"),
    ],
)
def test_conditions_that_are_missing_or_elsewhere_are_told(
    claim: Json, got: object, missing: str
) -> None:
    want = f"{missing} True within 5 s (budgets.binding)"
    assert _met(claim) == Said("binding conditions of device 'a' in a claim", got, want)


def _failure(claim: Json) -> Said | None:
    return said(lambda: binding.failure_must_be_told(claim, RESULT, within_s=5, what=WHAT))


def test_one_failure_condition_is_enough() -> None:
    assert _failure(told(bad="True")) is None
    assert _failure(told(bad="False", one="True")) == Said(
        "conditions of device 'a' in a claim",
        {"bad": "False", "one": "True"},
        "one of bad, worse True within 5 s (budgets.binding)",
    )


@pytest.mark.parametrize(
    "now", [None, {"name": "a", "taints": [{}]}, {"name": "a", "nodeName": "another"}]
)
def test_a_device_that_is_gone_tainted_or_elsewhere_is_not_offered(now: Json | None) -> None:
    before: Json = {"name": "a"}
    assert said(lambda: binding.must_not_be_offered(before, now, device="a", within_s=60)) is None


def test_a_device_that_is_offered_as_before_is_told() -> None:
    before: Json = {"name": "a"}
    assert said(
        lambda: binding.must_not_be_offered(before, before, device="a", within_s=60)
    ) == Said(
        "device 'a', 60 s after its attachment has failed",
        "published as before",
        "tainted, withdrawn or with another choice of nodes",
    )


@pytest.mark.parametrize(
    ("first", "fresh"),
    [
        ({"one": "False"}, {"one": "False"}),
        ({"one": "True"}, {"one": "True"}),
        ({}, {"one": "False"}),
    ],
)
def test_what_begins_as_for_a_new_claim_is_let_pass(
    first: dict[str, str], fresh: dict[str, str]
) -> None:
    assert said(lambda: binding.must_begin_anew(first, fresh, device="b", former="a")) is None


def test_what_is_true_at_once_and_is_not_so_for_a_new_claim_is_told() -> None:
    first = {"one": "True", "two": "False"}
    fresh = {"one": "False", "two": "False"}
    assert said(lambda: binding.must_begin_anew(first, fresh, device="b", former="a")) == Said(
        "first conditions of device 'b' in a claim that had 'a' before",
        first,
        f"one not True at first, as for a new claim: {fresh}",
    )


def _former(device: str) -> Said | None:
    allocated = {key_of(RESULT)}
    return said(lambda: binding.former_must_be_gone(told(device), allocated, driver="d"))


def test_an_entry_of_a_former_device_is_told() -> None:
    assert _former("a") is None
    assert _former("b") == Said(
        "status.devices of a claim with a new allocation",
        "entries for [('p', 'b', '')]",
        "entries for what the claim holds now",
    )

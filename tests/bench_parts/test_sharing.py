"""Amounts of shared devices that are rounded up."""

from __future__ import annotations

import pytest

from pytest_dra.bench.devices import Device
from pytest_dra.checks.shares import rounded
from pytest_dra.spec import Json


def device(value: str, policy: Json | None) -> Device:
    capacity = {"value": value, **({"requestPolicy": policy} if policy else {})}
    return Device(pool="p", name="d", spec={"capacity": {"m": capacity}})


@pytest.mark.parametrize(
    ("value", "policy", "amounts"),
    [
        ("16Gi", {"validRange": {"min": "1Ki", "step": "1Ki"}}, ("1024", "1025", "2048")),
        ("8", {"validValues": ["4", "1", "8"]}, ("1", "2", "4")),
    ],
)
def test_a_policy_says_what_is_rounded(value: str, policy: Json, amounts: tuple[str, ...]) -> None:
    assert rounded(device(value, policy).spec) == ("m", *amounts)


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        ("8", None),
        ("8", {"validValues": ["1"]}),
        ("8", {"validValues": ["1", "2"]}),
        ("8", {"validRange": {"min": "1"}}),
        ("8", {"validRange": {"min": "4", "step": "5"}}),
    ],
)
def test_where_nothing_lies_in_between_or_too_much_is_asked_nothing_is_rounded(
    value: str, policy: Json | None
) -> None:
    assert rounded(device(value, policy).spec) is None

"""Drivers that flood the API server: others are served all the same, and memory stays bounded."""

from __future__ import annotations

import pytest

from tests.drivers.judging import good
from tests.drivers.judging import judge
from tests.drivers.judging import module

FLOODS = "tests.drivers.bad.floods"
CASES = "REG-001,SLICE-001,PREP-023,UNP-004"
PATIENT = {"budgets": {"publish": 60}}

PEAK_MIB = 500
"""Most memory of pytest's process: an ordinary run takes 100, 4000 writes another 100."""


@pytest.mark.parametrize("what", ["connections", "slow", "bodies", "writes", "reads"])
def test_a_flood_keeps_nobody_from_the_api_server(what: str) -> None:
    judged = judge(module(FLOODS, what), cases=CASES, profile=PATIENT)
    assert judged.ids("passed") == set(CASES.split(","))
    assert judged.peak_mib is not None
    assert judged.peak_mib < PEAK_MIB
    assert judged.left == ()


def test_ten_thousand_devices_are_published_and_judged() -> None:
    judged = judge(good("--devices=10000"), cases=f"{CASES},SLICE-008", profile=PATIENT)
    assert judged.ids("passed") == {*CASES.split(","), "SLICE-008"}
    assert judged.peak_mib is not None
    assert judged.peak_mib < PEAK_MIB
    assert judged.left == ()

"""Differences between the depths are told, unless they are listed with their reason."""

from __future__ import annotations

import json

import pytest

from pytest_dra.catalogue import catalogue
from pytest_dra.spec import Depth
from tests.clusters import depths

STATES = {
    "REG-001": "passed",
    "REG-001[cluster]": "passed",
    "ROB-003": "passed",
    "ROB-003[cluster]": "unsupported-environment",
    "SLICE-001": "failed",
}
KNOWN = {
    "wire": "passed",
    "cluster": "unsupported-environment",
    "sometimes": False,
    "reason": "few calls",
}


def test_a_difference_without_a_reason_is_told() -> None:
    assert depths.pairs(STATES)["REG-001"] == ("passed", "passed")
    assert "SLICE-001" not in depths.pairs(STATES)
    assert depths.differences(STATES, {}) == [
        "ROB-003 is passed at wire depth and unsupported-environment on the cluster, and no reason "
        "is listed"
    ]
    assert depths.differences(STATES, {"ROB-003": KNOWN}) == []


def test_a_reason_that_has_become_wrong_is_told() -> None:
    states = {**STATES, "ROB-003[cluster]": "passed"}
    assert depths.differences(states, {"ROB-003": {**KNOWN, "sometimes": True}}) == []
    assert depths.differences(states, {"ROB-003": KNOWN, "REG-012": KNOWN}) == [
        "ROB-003 is passed at wire depth and passed on the cluster; listed: passed and "
        "unsupported-environment",
        "REG-012 is listed and was not judged at both",
    ]


def test_a_state_of_a_busy_machine_is_no_difference_where_it_is_listed() -> None:
    states = {**STATES, "ROB-003[cluster]": "failed"}
    assert len(depths.differences(states, {"ROB-003": KNOWN})) == 1
    assert depths.differences(states, {"ROB-003": {**KNOWN, "on_busy_machine": "failed"}}) == []
    otherwise = {**states, "ROB-003": "failed", "ROB-003[cluster]": "passed"}
    listed = {"ROB-003": {**KNOWN, "on_busy_machine": "failed"}}
    assert len(depths.differences(otherwise, listed)) == 1


@pytest.mark.parametrize("driver", json.loads(depths.REASONS.read_text("utf-8")))
def test_what_is_listed_has_states_and_a_reason(driver: str) -> None:
    for id, known in json.loads(depths.REASONS.read_text("utf-8"))[driver].items():
        assert id in depths.cases()
        assert set(known) - {"on_busy_machine"} == {"wire", "cluster", "sometimes", "reason"}
        assert known["wire"] != known["cluster"]
        assert known["reason"]


def test_every_case_that_the_catalogue_gives_both_depths_is_compared() -> None:
    found = catalogue()
    also = {id for id, more in found.also_depths.items() if Depth.CLUSTER in more}
    assert set(depths.cases()) == also

"""Drivers that do not answer, or answer in no language that anybody knows.

The deadlines of the kubelet (45 s for Prepare) cannot be shortened, so that runs on a driver that
hangs there are measured by ``python -m tests.drivers.patience`` instead.
"""

from __future__ import annotations

import pytest

from tests.drivers.good.options import NAME
from tests.drivers.judging import good
from tests.drivers.judging import judge
from tests.drivers.judging import module

SOCKETS = "tests.drivers.bad.sockets"
HANGING = "tests.drivers.bad.hanging"
RESETS = "tests.drivers.bad.resets"


def test_a_driver_that_hangs_in_get_info_fails_the_cases_of_that_alone() -> None:
    judged = judge(module(HANGING, "get-info"), cases="REG-002,REG-003,PREP-001")
    assert judged.ids("failed") == {"REG-002"}
    assert "DEADLINE_EXCEEDED" in judged.got("REG-002")
    assert judged.reason("REG-003") == judged.reason("PREP-001") == "blocked by REG-002"
    assert judged.left == ()


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("garbage", "UNAVAILABLE"),
        ("message", "INTERNAL: 64 bytes that are no pluginregistration.PluginInfo"),
    ],
)
def test_nonsense_on_the_registration_socket_fails_reg_002(what: str, why: str) -> None:
    judged = judge(module(SOCKETS, what), cases="REG-001,REG-002,REG-003,PREP-023")
    assert judged.state("REG-001") == "passed"
    assert judged.ids("failed") == {"REG-002"}
    assert why in judged.got("REG-002")
    assert judged.reason("REG-003") == judged.reason("PREP-023") == "blocked by REG-002"
    assert judged.left == ()


def test_nonsense_on_the_dra_socket_fails_the_first_case_that_calls_it() -> None:
    judged = judge(module(SOCKETS, "dra-text"), cases="REG-002,REG-006,PREP-001")
    assert judged.state("REG-002") == "passed"
    assert judged.ids("failed") == {"REG-006"}
    assert "UNAVAILABLE" in judged.got("REG-006")
    assert judged.reason("PREP-001") == "blocked by REG-006"
    assert judged.left == ()


CUT = ("UNAVAILABLE", "CANCELLED", "INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED")
"""How gRPC calls a call whose connection was cut, by the moment of it."""

AFTERMATH = "is in use by claim"
"""What the driver says where the call that was cut was an Unprepare."""


@pytest.mark.parametrize("when", ["after", "before"])
def test_reset_connections_fail_cases_and_are_never_our_error(when: str) -> None:
    judged = judge(module(RESETS, when), cases="REG-006,PREP-023,PREP-001,PREP-002,PREP-003")
    assert judged.ids("errored") == set()
    texts = {id: judged.got(id) for id in judged.ids("failed")}
    wanted = (*CUT, AFTERMATH)
    assert [text for text in texts.values() if not any(part in text for part in wanted)] == [], (
        texts
    )
    assert judged.left == ()


def test_a_driver_that_only_writes_to_the_api_fails_reg_001_and_keeps_its_good_slices() -> None:
    judged = judge(
        good("--parts=controller"),
        cases="REG-001,REG-002,SLICE-001,SLICE-002,PREP-001",
        profile={"driver": {"name": NAME}, "budgets": {"start": 2}},
    )
    assert judged.ids("failed") == {"REG-001"}
    assert "no socket in 2 s" in judged.got("REG-001")
    assert judged.ids("passed") == {"SLICE-001", "SLICE-002"}
    assert judged.reason("REG-002") == judged.reason("PREP-001") == "blocked by REG-001"
    assert judged.report["verdict"] == "non-conformant"
    assert judged.left == ()


def test_a_socket_that_accepts_and_never_answers_fails_reg_002() -> None:
    judged = judge(module(SOCKETS, "silence"), cases="REG-001,REG-002,REG-003,PREP-023")
    assert judged.ids("passed") == {"REG-001"}
    assert judged.ids("failed") == {"REG-002"}
    assert "DEADLINE_EXCEEDED" in judged.got("REG-002")
    assert judged.reason("REG-003") == judged.reason("PREP-023") == "blocked by REG-002"
    assert judged.left == ()

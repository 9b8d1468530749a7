"""Drivers that are odd as processes: they multiply, hide, stand still or shout."""

from __future__ import annotations

import pytest

from tests.drivers.judging import judge
from tests.drivers.judging import module
from tests.drivers.test_answers import is_plain

PROCESSES = "tests.drivers.bad.processes"
SHORT = {"budgets": {"start": 10, "publish": 10}}


@pytest.mark.parametrize("what", ["children", "hides", "mute"])
def test_whatever_a_driver_starts_or_closes_it_is_judged_and_nothing_stays(what: str) -> None:
    judged = judge(module(PROCESSES, what), cases="REG-001,PREP-023,UNP-004")
    assert judged.ids("passed") == {"REG-001", "PREP-023", "UNP-004"}
    assert judged.left == ()


def test_a_daemon_that_leaves_its_parent_is_told_to_stay_in_the_foreground() -> None:
    # Late, so that its parent's end is seen before its sockets are.
    late = module(PROCESSES, "leaves", "--delay=60")
    judged = judge(late, cases="REG-001,SLICE-001,PREP-023", profile=SHORT)
    assert judged.ids("failed") == {"REG-001", "SLICE-001"}
    assert "exited with code 0" in judged.got("REG-001")
    assert "a driver has to stay in the foreground" in judged.got("REG-001")
    assert judged.reason("PREP-023") == "blocked by REG-001"
    assert judged.left == ()


def test_a_driver_that_stands_still_is_said_to_and_the_rest_is_blocked() -> None:
    judged = judge(
        module(PROCESSES, "stops", "--write=never"),
        cases="REG-001,SLICE-001,PREP-023",
        profile={"budgets": {"start": 10, "publish": 3}},
    )
    assert judged.ids("failed") == {"SLICE-001"}
    assert "process 'driver' stands still: it was stopped by a signal" in judged.got("SLICE-001")
    assert judged.ids("errored") == set()
    assert judged.reason("PREP-023").startswith("blocked by ")
    assert judged.left == ()


@pytest.mark.parametrize("what", ["escapes", "shouts"])
def test_the_last_words_of_a_driver_are_shown_plain(what: str) -> None:
    judged = judge(module(PROCESSES, what), cases="REG-001,PREP-023", profile=SHORT)
    assert judged.ids("failed") == {"REG-001"}
    assert "exited with code 6" in judged.got("REG-001")
    assert "\\u202eevil" in judged.got("REG-001")
    assert is_plain(judged)
    assert judged.left == ()

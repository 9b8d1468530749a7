"""Drivers that do their work and behave badly otherwise: judged by their work, cleaned up after."""

from __future__ import annotations

import pytest

from tests.drivers.judging import judge
from tests.drivers.judging import module

MESSY = "tests.drivers.bad.messy"


@pytest.mark.parametrize("what", ["stays,talks,fills", "sockets"])
def test_a_mess_is_judged_by_its_work_and_nothing_of_it_is_left(what: str) -> None:
    judged = judge(module(MESSY, what), cases="REG-001,PREP-023,UNP-004,IDEM-004")
    assert judged.ids("passed") == {"REG-001", "PREP-023", "UNP-004", "IDEM-004"}
    assert judged.left == ()


def test_bodies_that_are_no_slices_are_the_drivers_failure_at_most() -> None:
    judged = judge(module(MESSY, "bodies"), cases="REG-003,SLICE-001,SLICE-002,SLICE-008,PREP-023")
    assert judged.ids("passed") == {"REG-003", "SLICE-001", "PREP-023"}
    assert judged.ids("failed") == {"SLICE-002", "SLICE-008"}
    assert judged.left == ()

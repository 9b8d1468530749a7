"""Each case is proved by a fault of the fake driver."""

from __future__ import annotations

import pytest

from pytest_dra.cases import locked
from pytest_dra.catalogue import catalogue
from pytest_dra.fake_driver.faults import Fault
from pytest_dra.fake_driver.faults import all_faults


def test_each_case_has_a_fault_and_each_fault_a_case() -> None:
    assert {fault.case for fault in all_faults()} == locked()


@pytest.mark.parametrize("fault", all_faults(), ids=lambda fault: fault.case)
def test_a_fault_does_what_the_catalogue_says(fault: Fault) -> None:
    assert fault.text == catalogue().case(fault.case).fault
    assert fault.parts, "a fault that changes nothing"

"""Two pods on one device: did both run at a time."""

from __future__ import annotations

import pytest

from pytest_dra.checks.overlaps import must_not_overlap
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

APART = "first 10.0\nfirst 11.5\nsecond 11.6\nnonsense\nsecond x\n"
TOGETHER = "first 10.0\nsecond 11.0\nfirst 12.5\nsecond 13.0\n"
REFUSAL = "FailedPrepareDynamicResources: in use"


def test_one_after_the_other_is_fine() -> None:
    must_not_overlap("pod a", "pod b", APART, warnings=[])


def test_both_at_a_time_is_a_finding() -> None:
    with pytest.raises(Violation) as caught:
        must_not_overlap("pod a", "pod b", TOGETHER, warnings=["Failed: else"])
    assert caught.value.where == "pod a and pod b on one device"
    assert caught.value.got == "the second one began 1.5 s before the last sign of the first one"


def test_a_driver_that_has_refused_meanwhile_has_done_what_it_can() -> None:
    must_not_overlap("pod a", "pod b", TOGETHER, warnings=[REFUSAL])


@pytest.mark.parametrize("told", ["", "first 1.0", "second 1.0"])
def test_without_signs_of_both_nothing_is_judged(told: str) -> None:
    with pytest.raises(UnsupportedEnvironment, match="a folder of their node"):
        must_not_overlap("pod a", "pod b", told, warnings=[])

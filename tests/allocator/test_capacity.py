"""What a share consumes, as the status of a claim spells it."""

from __future__ import annotations

import pytest

from pytest_dra.allocator import rules
from pytest_dra.allocator.capacity import price
from pytest_dra.api.releases import VERSIONS


def consumed(asked: str, *, least: str, step: str, version: str = "1.37") -> str:
    reach = {"min": least, "step": step, "max": "1Ti"}
    capacity = {"memory": {"value": "1Ti", "requestPolicy": {"validRange": reach}}}
    return price({"memory": asked}, capacity, rules(version)).texts["memory"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rounded_amount_is_spelled_in_powers_of_1024(version: str) -> None:
    assert consumed("10Gi", least="4Gi", step="4Gi", version=version) == "12Gi"


def test_its_style_is_that_of_the_step() -> None:
    assert consumed("2500", least="1k", step="1k") == "3k"
    assert consumed("2500", least="1000", step="1Ki") == "3048"

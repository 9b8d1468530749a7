"""BIND: conditions that a device waits for before it is bound."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.cases import case
from pytest_dra.spec import Level


@case("BIND-001", Level.MUST, settles=True)
def test_bind_001_condition_lists(dra_bench: Bench) -> None:
    """condition lists are legal"""
    dra_bench.inspecting.must_pass("BIND-001")

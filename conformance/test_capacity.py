"""CAP: capacity that several claims share."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.cases import case
from pytest_dra.spec import Level


@case("CAP-001", Level.MUST, settles=True)
def test_cap_001_request_policies(dra_bench: Bench) -> None:
    """request policies are consistent"""
    dra_bench.inspecting.must_pass("CAP-001")

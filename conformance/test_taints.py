"""TAINT: taints of published devices."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.cases import case
from pytest_dra.spec import Level


@case("TAINT-001", Level.MUST, settles=True)
def test_taint_001_legal(dra_bench: Bench) -> None:
    """taints are legal"""
    dra_bench.inspecting.must_pass("TAINT-001")


@case("TAINT-002", Level.SHOULD, settles=True)
def test_taint_002_domain(dra_bench: Bench) -> None:
    """taint keys carry a domain of the driver"""
    dra_bench.inspecting.must_pass("TAINT-002")


@case("TAINT-007", Level.MAY, settles=True)
def test_taint_007_informational(dra_bench: Bench) -> None:
    """informational taints have effect None"""
    dra_bench.inspecting.must_pass("TAINT-007")

"""SEC: what a driver may do, and what it must not."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench.shipping import manifests_must_pass
from pytest_dra.cases import case
from pytest_dra.spec import Level


@case("SEC-001", Level.SHOULD, settles=True)
def test_sec_001_few_rights(dra_bench: Bench) -> None:
    """the node role is minimal"""
    manifests_must_pass(dra_bench, "SEC-001")


@case("SEC-007", Level.SHOULD, settles=True)
def test_sec_007_privileges(dra_bench: Bench) -> None:
    """container privileges are no larger than needed"""
    manifests_must_pass(dra_bench, "SEC-007")

"""STAT: the status of devices in claims."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench.shipping import manifests_must_pass
from pytest_dra.cases import case
from pytest_dra.spec import Level


@case("STAT-004", Level.MUST, settles=True)
def test_stat_004_status_rights(dra_bench: Bench) -> None:
    """the shipped role covers status writes of 1.36"""
    manifests_must_pass(dra_bench, "STAT-004")

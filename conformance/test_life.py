"""LIFE: a driver from its installation to its end."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench.shipping import manifests_must_pass
from pytest_dra.cases import case
from pytest_dra.spec import Level


@case("LIFE-006", Level.SHOULD, settles=True)
def test_life_006_fit_for_nodes(dra_bench: Bench) -> None:
    """the manifests follow the rules for node plugins"""
    manifests_must_pass(dra_bench, "LIFE-006")


@case("LIFE-011", Level.MUST, settles=True)
def test_life_011_node_allocatable(dra_bench: Bench) -> None:
    """node-allocatable mappings are legal"""
    dra_bench.inspecting.must_pass("LIFE-011")

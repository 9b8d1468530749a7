"""What ``--features`` adds to an inventory and to slices."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_dra.fake_driver.errors import StartError
from pytest_dra.fake_driver.features import FEATURES
from pytest_dra.fake_driver.inventory import Inventories
from pytest_dra.fake_driver.options import Options
from pytest_dra.fake_driver.options import parse
from pytest_dra.fake_driver.slices import PoolSlices
from pytest_dra.fake_driver.slices import Slices

CALL = ["--node-name=node-a", "--registry-dir=/r", "--plugins-dir=/p"]
IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}


def options(*features: str) -> Options:
    return Options(
        node_name="node-a",
        registry_dir=Path("/r"),
        plugins_dir=Path("/p"),
        cdi_root=Path("/c"),
        features=features,
    )


def pools(*features: str) -> dict[str, PoolSlices]:
    chosen = options(*features)
    made = Slices(chosen, Inventories(chosen).load()).wanted()
    return {pool.pool: pool for pool in made}


@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_has_a_pool_of_its_own_beside_the_plain_one(name: str) -> None:
    made = pools(name)
    assert list(made) == ["node-a", f"node-a-{name}"]
    assert made["node-a"] == pools()["node-a"]
    specs = made[f"node-a-{name}"].specs
    assert {spec["pool"]["resourceSliceCount"] for spec in specs} == {len(specs)}
    names = [device["name"] for spec in specs for device in spec.get("devices", [])]
    assert names
    assert len(set(names)) == len(names)


def test_counters_have_a_slice_of_their_own() -> None:
    devices, counters = pools("partitions")["node-a-partitions"].specs
    assert "sharedCounters" not in devices
    assert "devices" not in counters


def test_an_inventory_that_is_made_up_by_number_has_no_features() -> None:
    chosen = dataclasses.replace(options("taints"), devices=3)
    assert [pool.name for pool in Inventories(chosen).load().pools] == ["node-a"]


def test_features_are_named_with_commas_and_unknown_ones_refused() -> None:
    assert parse([*CALL, "--features=taints,shares"], IN_CLUSTER).features == ("taints", "shares")
    assert parse(CALL, IN_CLUSTER).features == ()
    with pytest.raises(StartError, match=r"--features has 'x'; want some of taints, notices"):
        parse([*CALL, "--features=taints,x"], IN_CLUSTER)

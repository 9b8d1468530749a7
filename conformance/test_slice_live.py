"""SLICE on a cluster: what is published there, and what becomes of it."""

from __future__ import annotations

from itertools import combinations

from pytest_dra.cases import case
from pytest_dra.checks import pools
from pytest_dra.checks import restarts
from pytest_dra.checks import slices
from pytest_dra.live import LiveBench
from pytest_dra.live.driver import DEPLOYED_S
from pytest_dra.profile import Hardware
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

BACK_S = 150.0
"""Deadline for slices to come back, as at wire depth: some of them are younger than a minute."""

TWO = 2


@case("SLICE-001", Level.MUST, live=True)
def test_slice_001_published(dra_live: LiveBench) -> None:
    """the driver publishes its devices"""
    published = dra_live.driver.must_publish()
    if dra_live.profile.launch.hardware is not Hardware.NONE:
        name = dra_live.driver.name
        slices.devices_must_be_published(published, driver=name, within_s=DEPLOYED_S)


@case("SLICE-006", Level.MUST, live=True)
def test_slice_006_pool_of_each_node(dra_live: LiveBench) -> None:
    """node-local pools of different nodes have different names"""
    driver = dra_live.driver
    driver.must_publish()
    by_node: dict[str, list[Json]] = {}
    for each in driver.everywhere():
        if each["spec"].get("nodeName"):
            by_node.setdefault(each["spec"]["nodeName"], []).append(each)
    if len(by_node) < TWO:
        raise NotApplicable(f"slices of {len(by_node)} node: two are needed to tell pools apart")
    for one, other in combinations(by_node, 2):
        if driver.node in ("", one, other):
            pools.pool_names_must_differ(by_node[one], by_node[other])


@case("SLICE-012", Level.MUST, live=True)
def test_slice_012_wiped_slices(dra_live: LiveBench) -> None:
    """wiped slices come back without help"""
    driver = dra_live.driver
    before = pools.newest(driver.must_publish())
    driver.sweep()

    def back() -> bool:
        return slices.inventory(before) <= slices.inventory(driver.slices())

    poll(back, Deadline.after(BACK_S), every_s=1.0)
    slices.inventory_must_be_back(
        driver.slices(), before=before, after="the deletion of all of them", within_s=BACK_S
    )


@case("SLICE-015", Level.MUST, live=True)
def test_slice_015_same_device(dra_live: LiveBench) -> None:
    """devices keep their name and pool"""
    seen = dra_live.restarts.last()
    for item in pools.newest(seen.before):
        for device in item["spec"].get("devices") or ():
            restarts.device_must_stay(
                seen.after,
                pool=item["spec"]["pool"]["name"],
                device=device,
                volatile=dra_live.profile.driver.volatile_attributes,
            )

"""SLICE: ResourceSlices."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench.devices import newest_generation
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.replugging import change_of
from pytest_dra.cases import case
from pytest_dra.checks import pools
from pytest_dra.checks import slices
from pytest_dra.checks.pools import newest
from pytest_dra.profile import Hardware
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable

BACK_S = 90.0
"""Deadline for slices to come back: the Go helper repairs at the next multiple of 30 (60) s."""

BACK_YOUNG_S = 150.0
"""The same for slices younger than a minute, which that helper's cache still shows as there."""

YOUNG_S = 60.0


def _start_family(bench: Bench) -> None:
    bench.family.begin()


@case("SLICE-001", Level.MUST)
def test_slice_001_published(dra_bench: Bench) -> None:
    """the driver publishes its devices"""
    instance = dra_bench.instance
    published = dra_bench.wait_published()
    if dra_bench.profile.launch.hardware is Hardware.NONE:
        if not published:
            raise NotApplicable("launch.hardware is none and no slice is published")
        return
    slices.devices_must_be_published(
        published, driver=dra_bench.driver, within_s=instance.budgets.publish
    )


@case("SLICE-002", Level.MUST, settles=True)
def test_slice_002_one_node_choice(dra_bench: Bench) -> None:
    """each slice chooses its nodes in exactly one way"""
    dra_bench.published()
    slices.nodes_must_be_chosen_once(_some(dra_bench, dra_bench.slices_as_sent()))


@case("SLICE-003", Level.MUST, settles=True, begin=_start_family)
def test_slice_003_own_node(dra_bench: Bench) -> None:
    """slices of node-local devices name the driver's own node"""
    neighbour = dra_bench.family.neighbour
    neighbour.wait_published()
    dra_bench.published()
    neighbour.settle()
    for instance in (dra_bench.instance, neighbour):
        slices.node_names_must_be(instance.slices_as_sent(), node=instance.node)


@case("SLICE-005", Level.MUST, settles=True)
def test_slice_005_count(dra_bench: Bench) -> None:
    """resourceSliceCount is true"""
    slices.counts_must_be_true(newest_generation(_some(dra_bench, dra_bench.published())))


@case("SLICE-007", Level.MUST, settles=True)
def test_slice_007_unique_devices(dra_bench: Bench) -> None:
    """device names are unique in the pool"""
    slices.device_names_must_be_unique(newest_generation(_some(dra_bench, dra_bench.published())))


@case("SLICE-008", Level.MUST, settles=True)
def test_slice_008_well_formed_names(dra_bench: Bench) -> None:
    """device and pool names are well formed"""
    dra_bench.published()
    slices.names_must_be_well_formed(_some(dra_bench, dra_bench.slices_as_sent()))


@case("SLICE-012", Level.MUST)
def test_slice_012_wiped_slices(dra_bench: Bench) -> None:
    """wiped slices come back without help"""
    instance = dra_bench.instance
    published = dra_bench.published()
    whole = instance.wait_for_slices(
        lambda now: slices.count(published) <= slices.count(now),
        within_s=dra_bench.within(BACK_YOUNG_S),
    )
    before = newest(whole)
    with dra_bench.timeline.disturbance("slices deleted"):
        young = dra_bench.timeline.now() - instance.slice_writes()[-1].at < YOUNG_S
        limit = dra_bench.within(BACK_YOUNG_S if young else BACK_S)
        since = len(dra_bench.timeline)
        instance.delete_slices_of_node()
        now = _wait_for(instance, before, limit)
        slices.inventory_must_be_back(
            now, before=before, after="a delete collection by nodeName", within_s=limit
        )
        dra_bench.replugging.note(change_of(instance, "the return of wiped slices", since, (), now))
        registered = instance.kubelet.plugins()
        instance.end()
        instance.delete_slices_of_node()
        instance.start_again()
        dra_bench.forget()
        limit = instance.budgets.publish
        now = instance.wait_for_slices(
            lambda now: slices.count(before) <= slices.count(now), within_s=limit
        )
        slices.devices_must_be_back(
            now, before=before, after="deletion while the driver was down", within_s=limit
        )
        if registered:
            instance.plugin()


def _some(bench: Bench, found: list[Json]) -> list[Json]:
    """``found``, unless there is nothing to judge, which is the matter of SLICE-001."""
    if not found and bench.profile.launch.hardware is Hardware.NONE:
        raise NotApplicable("launch.hardware is none and no slice is published")
    if not found:
        raise Blocked("SLICE-001")
    return found


def _wait_for(instance: Instance, before: list[Json], limit_s: float) -> list[Json]:
    """Wait until the inventory is there, in whole pools where they were whole before.

    Returns the slices as they are then or at the deadline.
    """
    wanted, whole = slices.inventory(before), pools.are_tidy(before)
    return instance.wait_for_slices(
        lambda now: wanted <= slices.inventory(now) and (pools.are_tidy(now) or not whole),
        within_s=limit_s,
    )

"""SLICE: changes of what is published, by hotplug, other inventories and restarts."""

from __future__ import annotations

from pytest_dra.bench import Bench
from pytest_dra.bench import changes
from pytest_dra.bench import comeback
from pytest_dra.bench import history
from pytest_dra.bench import writing
from pytest_dra.bench.calls import WORKING
from pytest_dra.bench.changes import Change
from pytest_dra.bench.offer import nothing_offered
from pytest_dra.bench.publishing import WRITES
from pytest_dra.bench.replugging import CLEAN_S
from pytest_dra.cases import case
from pytest_dra.checks import pools
from pytest_dra.checks import restarts
from pytest_dra.checks import slice_fields
from pytest_dra.checks import slices
from pytest_dra.spec import Blocked
from pytest_dra.spec import Level
from pytest_dra.timeline import Mark
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import quiet

EMPTY_S = 10.0
"""How long a driver without a device is watched."""


def _restart(bench: Bench) -> None:
    bench.restarts.begin()


@case("SLICE-010", Level.MUST, settles=True)
def test_slice_010_whole_views(dra_bench: Bench) -> None:
    """readers never see a mixture of two inventories"""
    dra_bench.published()
    dra_bench.replugging.shrink()
    found = _changes(dra_bench)
    dra_bench.timeline.add(Mark(text=f"SLICE-010 judges {len(found)} changes"))
    for change in found:
        pools.views_must_be_whole(
            changes.moments(dra_bench.timeline, change),
            old=change.old,
            new=change.new,
            during=change.during,
        )


@case("SLICE-011", Level.MUST, ahead=_restart)
def test_slice_011_no_leftovers(dra_bench: Bench) -> None:
    """superseded slices do not stay behind"""
    limit = dra_bench.within(CLEAN_S)
    seen = dra_bench.restarts.seen()
    what = "a restart beside a slice of an older generation"
    pools.leftovers_must_be_gone(seen.settled, after=what, within_s=limit)
    for change in dra_bench.replugging.shrink():
        pools.leftovers_must_be_gone(change.new, after=change.during, within_s=limit)


@case("SLICE-015", Level.MUST, ahead=_restart)
def test_slice_015_same_device(dra_bench: Bench) -> None:
    """devices keep their name and pool"""
    seen = dra_bench.restarts.seen()
    if dra_bench.profile.driver.registers and not seen.held:
        raise Blocked(WORKING)
    restarts.device_must_stay(
        seen.settled,
        pool=seen.device.pool,
        device=seen.device.spec,
        volatile=dra_bench.profile.driver.volatile_attributes,
    )


@case("SLICE-016", Level.SHOULD, ahead=_restart)
def test_slice_016_stable_order(dra_bench: Bench) -> None:
    """a restart does not rewrite the slices"""
    seen = dra_bench.restarts.seen()
    volatile, node = dra_bench.profile.driver.volatile_attributes, dra_bench.instance.node
    before = pools.of_node(seen.before, node)
    for number, after in enumerate((*seen.after, seen.settled), start=1):
        found = pools.of_node(after, node)
        whole = pools.are_tidy(after) and slices.count(found) == slices.count(before)
        if whole or after is seen.settled:
            restarts.slices_must_be_equal(
                found,
                before=before,
                volatile=volatile,
                restart=min(number, len(seen.after)),
            )


@case("SLICE-018", Level.SHOULD)
def test_slice_018_no_device(dra_bench: Bench) -> None:
    """an empty inventory is published, not fatal"""
    empty = dra_bench.family.empty
    if empty is None:
        raise nothing_offered(dra_bench.profile)
    comeback.revive(empty)
    began = empty.began
    deadline = Deadline.after(EMPTY_S)
    if not empty.over:
        quiet(empty.timeline, lambda: began, for_s=EMPTY_S, deadline=deadline)
    plugin = None if empty.over else empty.plugin()
    expected = dra_bench.profile.driver.registers
    found = [item for item in empty.slices() if item["spec"].get("nodeName") == empty.node]
    restarts.must_live_without_devices(
        obituary=empty.obituary(), registered=plugin is not None or not expected, slices=found
    )
    text = f"no device: {len(found)} slices without devices are published"
    dra_bench.timeline.add(Mark(text=text, instance=empty.name))


@case("SLICE-023", Level.SHOULD, settles=True)
def test_slice_023_fixed_fields(dra_bench: Bench) -> None:
    """immutable slice fields are never changed in place"""
    dra_bench.restarts.begin()
    dra_bench.replugging.shrink()
    for bench in (dra_bench, *dra_bench.beside()):
        slice_fields.fixed_fields_must_stay(writing.slice_writes(bench))


@case("SLICE-026", Level.SHOULD, settles=True)
def test_slice_026_generations(dra_bench: Bench) -> None:
    """changes of several slices raise the generation once"""
    for change in dra_bench.replugging.hotplug():
        if change.plugged:
            pools.generations_must_rise(old=change.old, new=change.new, during=change.during)
    for bench in (dra_bench, *dra_bench.beside()):
        _generations_must_not_fall(bench)


def _generations_must_not_fall(dra_bench: Bench) -> None:
    users = set(dra_bench.places)
    for step in history.steps(dra_bench.timeline):
        event = step.entry.event
        if event.identity in users and event.verb in WRITES:
            for name in step.names:
                pools.generation_must_not_fall(
                    step.before.values(), step.after[name], proof=(step.entry.serial,)
                )


def _changes(bench: Bench) -> list[Change]:
    """The first publication of the driver under test, and what was changed since."""
    instance = bench.instance
    first = Change(
        during="the first publication",
        user=instance.user,
        since=0,
        until=bench.settled_serial,
        old=(),
        new=tuple(bench.published()),
    )
    return [first, *bench.replugging.changed]

"""PART: partitions of devices, and the counters that they share."""

from __future__ import annotations

import functools

from pytest_dra.bench import Bench
from pytest_dra.bench import comeback
from pytest_dra.bench.crashpoint import CrashPoints
from pytest_dra.bench.dynamic import inventory
from pytest_dra.bench.dynamic import looks
from pytest_dra.bench.grouping import FIELD
from pytest_dra.bench.grouping import GATE
from pytest_dra.bench.grouping import incompatible_devices
from pytest_dra.bench.grouping import pools_with_groups
from pytest_dra.bench.grouping import sent_again
from pytest_dra.bench.grouping import slice_has_groups
from pytest_dra.bench.hindrances import gates_off
from pytest_dra.bench.overlapping import device_and_part
from pytest_dra.cases import case
from pytest_dra.checks import partitions
from pytest_dra.checks import prepare
from pytest_dra.checks import publishing
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

CRASHES = (1, 2)
"""Writes of Prepare at which the driver is killed."""

BACK_S = 150.0
"""Deadline for slices that were deleted (SLICE-012)."""

DROPPED_S = 10.0
"""How long a driver may take to notice that the API server drops a field."""


@case("PART-001", Level.MUST, settles=True)
def test_part_001_counter_sets(dra_bench: Bench) -> None:
    """counter sets are placed and named legally"""
    dra_bench.inspecting.must_pass("PART-001")


@case("PART-002", Level.MUST, settles=True)
def test_part_002_consumed_exist(dra_bench: Bench) -> None:
    """consumed counters exist in the pool"""
    dra_bench.inspecting.must_pass("PART-002")


@case("PART-003", Level.MUST, settles=True)
def test_part_003_limits(dra_bench: Bench) -> None:
    """counter limits are kept"""
    dra_bench.inspecting.must_pass("PART-003")


@case("PART-004", Level.SHOULD, settles=True)
def test_part_004_fit(dra_bench: Bench) -> None:
    """each device fits into its counters"""
    dra_bench.inspecting.must_pass("PART-004")


@case("PART-005", Level.SHOULD, settles=True)
def test_part_005_overlaps(dra_bench: Bench) -> None:
    """overlapping devices exclude each other"""
    dra_bench.inspecting.must_pass("PART-005")


@case("PART-006", Level.MUST, settles=True)
def test_part_006_count(dra_bench: Bench) -> None:
    """resourceSliceCount includes counter slices"""
    dra_bench.inspecting.must_pass("PART-006")


@case("PART-007", Level.MUST, apart_s=3)
def test_part_007_dynamic(dra_bench: Bench) -> None:
    """dynamic partitions appear and disappear with their claim"""
    found = looks(dra_bench)
    dynamic = [each for each in found if each.is_dynamic]
    partitions.some_must_come(
        [each.device.name for each in dynamic], tried={each.device.name for each in found}
    )
    for each in found:
        what = f"Unprepare of a claim on device {each.device.name!r}"
        partitions.must_be_as_before(each.before, each.after, what=what)
    device, before = dynamic[0].device, dynamic[0].before
    hook = dra_bench.profile.hooks.crash_point
    with CrashPoints(dra_bench.instance, hook=hook) as points:
        for number in CRASHES:
            claim = dra_bench.claim([device])
            with dra_bench.timeline.disturbance("a crash"):
                call = functools.partial(dra_bench.prepare, claim)
                if not points.at(number, prepare.PREPARE, call).struck:
                    dra_bench.instance.kill()
                what = f"a crash at write {number} of Prepare"
                comeback.start_again(dra_bench, after=what)
                reply = dra_bench.unprepare(claim)
            prepare.must_succeed(reply, claim.uid, what=f"Unprepare after {what}")
            after = inventory(dra_bench)
            partitions.must_be_as_before(before, after, what=f"{what}, and Unprepare")


@case("PART-008", Level.MUST)
def test_part_008_incompatible(dra_bench: Bench) -> None:
    """allocations of incompatible devices are refused"""
    held, wanted = incompatible_devices(dra_bench)
    first, second = (dra_bench.claim([device]) for device in (held, wanted))
    what = f"Prepare on device {held.name!r}"
    prepare.must_succeed(dra_bench.prepare(first), first.uid, what=what)
    what = f"Prepare on device {wanted.name!r}, which has no {FIELD} in common with {held.name!r}"
    prepare.must_be_refused(dra_bench.prepare(second), second.uid, what=what)
    what = f"Unprepare on device {held.name!r}"
    prepare.must_succeed(dra_bench.unprepare(first), first.uid, what=what)
    what = f"Prepare on device {wanted.name!r} after the release of {held.name!r}"
    prepare.must_succeed(dra_bench.prepare(second), second.uid, what=what)


@case("PART-009", Level.SHOULD, settles=True)
def test_part_009_gate_off(dra_bench: Bench) -> None:
    """compatibilityGroups are left out when the gate is off"""
    limit_s = dra_bench.within(BACK_S)
    dra_bench.published()
    pools = pools_with_groups(dra_bench)
    if not pools:
        raise NotApplicable(f"no {FIELD} are published")
    dra_bench.spoiled(f"{FIELD} were dropped")
    with gates_off(dra_bench, [GATE]):
        sent_again(dra_bench, pools, within_s=limit_s)
        deadline = Deadline.after(DROPPED_S)
        sent = sent_again(dra_bench, pools, within_s=limit_s)
        if any(map(slice_has_groups, sent)):
            until(dra_bench.timeline, lambda: dra_bench.instance.over, deadline)
            sent = sent_again(dra_bench, pools, within_s=limit_s)
    publishing.groups_must_be_left_out(sent, within_s=DROPPED_S)


@case("PART-010", Level.MUST)
def test_part_010_overlapping(dra_bench: Bench) -> None:
    """overlapping partitions are refused at Prepare"""
    pair = device_and_part(dra_bench)
    for held, wanted in (pair, pair[::-1]):
        first, second = (dra_bench.claim([device]) for device in (held, wanted))
        what = f"Prepare on device {held.name!r}"
        prepare.must_succeed(dra_bench.prepare(first), first.uid, what=what)
        what = f"Prepare on device {wanted.name!r} while another claim has {held.name!r}"
        prepare.must_be_refused(dra_bench.prepare(second), second.uid, what=what)
        dra_bench.unprepare(first)
        dra_bench.unprepare(second)


@case("PART-011", Level.MUST, settles=True)
def test_part_011_partition_type(dra_bench: Bench) -> None:
    """partitionTypeAttribute is legal"""
    dra_bench.inspecting.must_pass("PART-011")


@case("PART-012", Level.MUST, settles=True)
def test_part_012_compatibility_groups(dra_bench: Bench) -> None:
    """compatibilityGroups are legal"""
    dra_bench.inspecting.must_pass("PART-012")

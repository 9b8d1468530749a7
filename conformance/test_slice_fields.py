"""SLICE: what stands in each ResourceSlice."""

from __future__ import annotations

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.bench import Bench
from pytest_dra.bench import writing
from pytest_dra.bench.family import MANY
from pytest_dra.cases import case
from pytest_dra.checks import pools
from pytest_dra.checks import slice_fields
from pytest_dra.profile import Hardware
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import Level
from pytest_dra.spec import NotApplicable


@case("SLICE-004", Level.SHOULD, settles=True)
def test_slice_004_owner(dra_bench: Bench) -> None:
    """node-local slices are owned by their Node"""
    found = _sent_or_blocked(dra_bench)
    instance = dra_bench.instance
    slice_fields.owners_must_be_nodes(
        found, uids={instance.node: writing.node_uid(dra_bench, instance)}
    )


@case("SLICE-006", Level.MUST, settles=True)
def test_slice_006_pool_of_each_node(dra_bench: Bench) -> None:
    """node-local pools of different nodes have different names"""
    neighbour = dra_bench.family.neighbour
    neighbour.wait_published()
    dra_bench.published()
    neighbour.settle()
    pools.pool_names_must_differ(dra_bench.instance.slices(), neighbour.slices())


@case("SLICE-009", Level.MUST, settles=True)
def test_slice_009_limits(dra_bench: Bench) -> None:
    """slices keep to the device limits of the Kubernetes version"""
    version = dra_bench.kubernetes
    limits = kubernetes_version(version).limits
    sent = _sent_or_blocked(dra_bench)
    slice_fields.limits_must_be_kept(sent, limits=limits, kubernetes=version)
    large = dra_bench.family.large
    if large is not None:
        limit = large.budgets.publish
        found = dra_bench.replugging.first(large)
        sent = large.slices_as_sent()
        slice_fields.limits_must_be_kept(sent, limits=limits, kubernetes=version)
        slice_fields.all_must_be_published(found, wanted=MANY, within_s=limit)


@case("SLICE-024", Level.MUST, settles=True)
def test_slice_024_nodes_of_devices(dra_bench: Bench) -> None:
    """per-device node selection is complete"""
    sent = _sent_or_blocked(dra_bench)
    if not slice_fields.chooses_per_device(sent):
        raise NotApplicable("no slice chooses nodes for each device")
    slice_fields.devices_must_choose_nodes(sent)


@case("SLICE-025", Level.MUST, settles=True)
def test_slice_025_skipped_operations(dra_bench: Bench) -> None:
    """skipNodeOperations is legal"""
    sent = _sent_or_blocked(dra_bench)
    if not slice_fields.skips_operations(sent):
        raise NotApplicable("no slice has skipNodeOperations")
    slice_fields.skipped_operations_must_be_legal(sent)


@case("SLICE-027", Level.MUST, settles=True)
def test_slice_027_valid(dra_bench: Bench) -> None:
    """no slice write is refused by validation"""
    _sent_or_blocked(dra_bench)
    slice_fields.writes_must_be_valid(
        entry for entry in dra_bench.instance.slice_writes() if not entry.disturbed
    )


def _sent_or_blocked(bench: Bench) -> list[Json]:
    """The slices as they were sent, once publishing has settled."""
    bench.published()
    sent = bench.slices_as_sent()
    if not sent and bench.profile.launch.hardware is Hardware.NONE:
        raise NotApplicable("launch.hardware is none and no slice is published")
    if not sent:
        raise Blocked("SLICE-001")
    return sent

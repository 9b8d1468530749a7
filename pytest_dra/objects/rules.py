"""The static rules of the catalogue: by case id, what judges captured objects.

The functions are those of ``checks``, which judge a running driver as well.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.cel.environments import Environment
from pytest_dra.checks import attributes
from pytest_dra.checks import counters
from pytest_dra.checks import pools
from pytest_dra.checks import registration
from pytest_dra.checks import selecting
from pytest_dra.checks import slice_fields
from pytest_dra.checks import slices
from pytest_dra.checks import taints
from pytest_dra.checks.flaws import Flaw
from pytest_dra.profile import DriverProfile
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import Violation

Pools = dict[tuple[str, str], list[Json]]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Objects:
    """What rules look at: well-formed objects in the form of ``resource.k8s.io/v1``.

    Attributes:
        slices: all of them.
        sound: those that an API server accepts.
        spelled: finds the value of a slice's field as it was written.
        nodes: uids of captured Nodes, by name.
    """

    slices: Sequence[Json]
    sound: Sequence[Json]
    spelled: Callable[[Json, str], object]
    nodes: Mapping[str, str]
    version: KubernetesVersion
    environment: Environment
    profile: DriverProfile

    @functools.cached_property
    def newest(self) -> list[Json]:
        """The slices of each pool's newest generation."""
        return pools.newest(self.slices)

    @functools.cached_property
    def pools(self) -> Pools:
        """The same by driver and pool."""
        return pools.by_pool(self.newest)


Rule = Callable[[Objects], Iterable[Flaw]]


def _each(found: Iterable[Json], field: str, judge: Callable[[list[Json]], None]) -> Iterator[Flaw]:
    """The violation of each slice by itself."""
    for item in found:
        try:
            judge([item])
        except Violation as violation:
            yield _flaw(item, field, violation)


def _flaw(item: Json, field: str, violation: Violation) -> Flaw:
    return Flaw(
        item=item, field=field, where=violation.where, got=violation.got, want=violation.want
    )


def _each_pool(found: Pools, field: str, judge: Callable[[Pools], None]) -> Iterator[Flaw]:
    for key, members in sorted(found.items()):
        try:
            judge({key: members})
        except Violation as violation:
            yield _flaw(members[0], field, violation)


def _driver_names(objects: Objects) -> Iterator[Flaw]:
    seen: set[str] = set()
    for item in objects.slices:
        name = item["spec"]["driver"]
        if name and name not in seen:
            seen.add(name)
            try:
                registration.name_must_be_in_a_domain(name, where="spec.driver of a ResourceSlice")
            except Violation as violation:
                yield _flaw(item, "spec.driver", violation)


def _owners(objects: Objects) -> Iterator[Flaw]:
    local = [item for item in objects.slices if item["spec"].get("nodeName")]
    if not local:
        raise NotApplicable("no slice names a node")
    for item in local:
        node = item["spec"]["nodeName"]
        uids = {node: objects.nodes.get(node) or _owner_uid(item, node)}
        judge = functools.partial(slice_fields.owners_must_be_nodes, uids=uids)
        yield from _each([item], "metadata.ownerReferences", judge)


def _owner_uid(item: Json, node: str) -> str:
    """The uid of a Node that was not captured: the one that the slice gives, whatever it is."""
    for owner in item["metadata"].get("ownerReferences") or []:
        if owner.get("kind") == "Node" and owner.get("name") == node and owner.get("uid"):
            return str(owner["uid"])
    return "uid of the Node"


def _pool_names(objects: Objects) -> Iterator[Flaw]:
    nodes = {item["spec"].get("nodeName") for item in objects.slices} - {None, ""}
    if len(nodes) < 2:
        raise NotApplicable(f"slices of {len(nodes)} nodes: two or more are needed")
    for members in pools.by_pool(objects.slices).values():
        of_node = {item["spec"].get("nodeName"): item for item in members}
        first, *others = of_node.values()
        judge = functools.partial(pools.pool_names_must_differ, [first])
        yield from _each(others, "spec.pool.name", judge)


def _limits(objects: Objects) -> Iterator[Flaw]:
    version = objects.version
    return _each(
        objects.slices,
        "spec.devices",
        lambda found: slice_fields.limits_must_be_kept(
            found, limits=version.limits, kubernetes=version.name
        ),
    )


def _device_nodes(objects: Objects) -> Iterator[Flaw]:
    if not slice_fields.chooses_per_device(objects.slices):
        raise NotApplicable("no slice selects nodes by device")
    return _each(objects.slices, "spec.devices", slice_fields.devices_must_choose_nodes)


def _skipped(objects: Objects) -> Iterator[Flaw]:
    if not slice_fields.skips_operations(objects.slices):
        raise NotApplicable("no slice has skipNodeOperations")
    judge = slice_fields.skipped_operations_must_be_legal
    return _each(objects.slices, "spec.skipNodeOperations", judge)


def _with_counters(judge: Callable[[Pools], Iterator[Flaw]]) -> Rule:
    def rule(objects: Objects) -> Iterator[Flaw]:
        _need_counters(objects)
        return judge(objects.pools)

    return rule


def _need_counters(objects: Objects) -> None:
    for item in objects.slices:
        devices = item["spec"].get("devices") or []
        if item["spec"].get("sharedCounters") or any(
            device.get("consumesCounters") for device in devices
        ):
            return
    raise NotApplicable("no slice has counters")


def _taint_domains(objects: Objects) -> Iterator[Flaw]:
    if not taints.are_used(objects.slices):
        raise NotApplicable("no device has a taint")
    domains = objects.profile.driver.domains
    return taints.keys_must_have_a_domain(objects.slices, domains=domains)


def _overlaps(objects: Objects) -> Iterator[Flaw]:
    _need_counters(objects)
    return counters.overlaps_must_exclude(objects.pools, attribute=objects.profile.driver.overlaps)


def _feature(*fields: str) -> Rule:
    """A rule whose flaws are refusals: it only says where the feature is not used."""

    def rule(objects: Objects) -> Iterator[Flaw]:
        if not any(_uses(item["spec"], fields) for item in objects.slices):
            raise NotApplicable(f"no slice has {' or '.join(fields)}")
        return iter(())

    return rule


def _uses(spec: Json, fields: tuple[str, ...]) -> bool:
    for device in spec.get("devices") or []:
        entries = device.get("consumesCounters") or []
        capacity = (device.get("capacity") or {}).values()
        if any(field in part for part in (device, *entries, *capacity) for field in fields):
            return True
    return any(field in spec for field in fields)


def _nothing(_: Objects) -> Iterator[Flaw]:
    """All flaws of the case are refusals."""
    return iter(())


OF_SLICES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "REG-016": _driver_names,
        "SLICE-002": lambda found: _each(found.slices, "spec", slices.nodes_must_be_chosen_once),
        "SLICE-004": _owners,
        "SLICE-005": lambda found: _each_pool(
            found.pools, "spec.pool.resourceSliceCount", slices.counts_must_be_true
        ),
        "SLICE-006": _pool_names,
        "SLICE-007": lambda found: _each_pool(
            found.pools, "spec.devices", slices.device_names_must_be_unique
        ),
        "SLICE-008": lambda found: _each(found.slices, "spec", slices.names_must_be_well_formed),
        "SLICE-009": _limits,
        "SLICE-024": _device_nodes,
        "SLICE-025": _skipped,
        "SLICE-027": _nothing,
        "ATTR-001": _nothing,
        "ATTR-002": _nothing,
        "ATTR-003": _nothing,
        "ATTR-004": _nothing,
        "ATTR-005": lambda found: attributes.types_must_agree(
            found.slices, lists_are_one=found.environment.lists
        ),
        "ATTR-006": lambda found: attributes.kinds_must_be_alike(
            found.newest, kind_attribute=found.profile.driver.kind_attribute
        ),
        "ATTR-007": lambda found: selecting.values_must_be_selectable(
            pools.newest(found.sound), found.environment
        ),
        "ATTR-008": lambda found: attributes.standard_must_be_kept(
            found.slices, minor=found.version.minor
        ),
        "ATTR-010": lambda found: attributes.version_must_be_published(
            found.newest, attribute=found.profile.driver.version_attribute
        ),
        "ATTR-012": lambda found: attributes.quantities_must_be_plain(
            found.slices, spelled=found.spelled
        ),
        "ATTR-014": lambda found: attributes.keys_must_have_one_slash(found.slices),
        "TAINT-001": _feature("taints"),
        "TAINT-002": _taint_domains,
        "TAINT-007": lambda found: taints.informational_must_have_no_effect(
            found.slices, keys=found.profile.driver.informational_taints
        ),
        "PART-001": _with_counters(counters.sets_must_be_unique),
        "PART-002": _with_counters(counters.consumed_must_exist),
        "PART-003": _feature("sharedCounters", "consumesCounters"),
        "PART-004": _with_counters(counters.consumed_must_fit),
        "PART-005": _overlaps,
        "PART-006": _with_counters(counters.counter_slices_must_count),
        "PART-011": _feature("partitionTypeAttribute"),
        "PART-012": _feature("compatibilityGroups"),
        "CAP-001": _feature("requestPolicy"),
        "BIND-001": _feature("bindingConditions", "bindingFailureConditions"),
        "LIFE-011": _feature("nodeAllocatableResources"),
    }
)
"""Cases that need slices alone, or with them what the profile says."""

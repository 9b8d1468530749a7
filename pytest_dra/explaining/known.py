"""Where Kubernetes' answer is known to be wrong, or surprises: said beside the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import Final

from pytest_dra.allocator import Index
from pytest_dra.allocator import nodes
from pytest_dra.allocator.pools import PoolKey
from pytest_dra.allocator.pools import View
from pytest_dra.explaining import waiting
from pytest_dra.explaining.reasons import COUNTER
from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling.cluster import requests_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.deciding import FATAL
from pytest_dra.scheduling.deciding import FITS
from pytest_dra.scheduling.deciding import NodeAnswer

if TYPE_CHECKING:
    from pytest_dra.explaining.explanation import NodeReport

Json = dict[str, Any]

_ISSUES: Final = "kubernetes/kubernetes#"


def changing(index: Index) -> dict[PoolKey, int]:
    """The newest generation of each pool that has slices of several."""
    found = {}
    for key, slices in index.by_pool.items():
        generations = {one.generation for one in slices}
        if len(generations) > 1:
            found[key] = max(generations)
    return found


def hidden(
    index: Index, newest: Mapping[PoolKey, int], view: View, node: nodes.Node
) -> Iterator[str]:
    """Pools that the node does not see although it has slices of them."""
    seen = {pool.key for pool in view.pools}
    for key in sorted(set(newest) - seen):
        try:
            near = [one.generation for one in index.by_pool[key] if one.reaches(node)]
        except nodes.SelectorError:
            continue
        if near and max(near) < newest[key]:
            yield (
                f"pool {'/'.join(key)} is obsolete: the node's slices have generation "
                f"{max(near)}, others {newest[key]}"
            )


def notes(
    scheduler: Scheduler, decision: Decision, reports: tuple[NodeReport, ...]
) -> tuple[str, ...]:
    """What is to be said of a decision."""
    found = [
        *_grouped(scheduler),
        *_shares(scheduler, decision),
        *_generations(scheduler, decision),
        *_admin(decision, reports),
        *_overdrawn(reports),
        *_every(decision, scheduler),
        *_alternatives(decision),
        *waiting.notes(scheduler, decision),
    ]
    return tuple(dict.fromkeys(found))


def _grouped(scheduler: Scheduler) -> Iterator[str]:
    if scheduler.rules.groups:
        return
    for key, slices in scheduler.index.by_pool.items():
        if any(one.layout.grouped for one in slices):
            yield (
                f"pool {'/'.join(key)} has devices with compatibility groups: while "
                "DRADeviceCompatibilityGroups is off, its slices do not count and the pool stays "
                "incomplete."
            )
            return


def _shares(scheduler: Scheduler, decision: Decision) -> Iterator[str]:
    """A device is given out as a whole while shares of it are in use."""
    if decision.chosen is None:
        return
    for allocation in decision.chosen.results:
        for result in results_of(allocation):
            use = scheduler.state.pools.get((result["driver"], result["pool"]))
            if use is None or result.get("shareID") or result.get("adminAccess"):
                continue
            if use.shared(result["device"]):
                yield (
                    f"Kubernetes is wrong here: device {result['device']} has shares in use and "
                    "does not allow several allocations any more, and is given out as a whole "
                    f"({_ISSUES}140798)."
                )


def _generations(scheduler: Scheduler, decision: Decision) -> Iterator[str]:
    """Devices of a generation that the driver has replaced elsewhere."""
    chosen = decision.chosen
    if chosen is None:
        return
    view = scheduler.index.view(scheduler.cluster.nodes.get(chosen.node) or {})
    newest = changing(scheduler.index)
    old = {
        pool.key
        for pool in view.pools
        if pool.slices and newest.get(pool.key, 0) > pool.slices[0].generation
    }
    for allocation in chosen.results:
        for result in results_of(allocation):
            key = (result["driver"], result["pool"])
            if key in old:
                yield (
                    f"Kubernetes is wrong here: pool {'/'.join(key)} has a newer generation on "
                    "other nodes, which is not noticed while the node's own slices are complete."
                )


def _admin(decision: Decision, reports: tuple[NodeReport, ...]) -> Iterator[str]:
    names = {
        request.get("name")
        for claim in decision.subject.claims
        for request in requests_of(claim)
        if (request.get("exactly") or {}).get("adminAccess")
    }
    for report in reports:
        for request in report.requests:
            counters = any(group.reason == COUNTER for group in request.groups)
            if request.request in names and counters:
                yield (
                    "Kubernetes is wrong here: a request for admin access is charged for shared "
                    f"counters, although it uses none up ({_ISSUES}140729)."
                )
                return


def _overdrawn(reports: tuple[NodeReport, ...]) -> Iterator[str]:
    for report in reports:
        for request in report.requests:
            for group in request.groups:
                if group.reason == COUNTER and "overdrawn" in group.text:
                    yield (
                        "Kubernetes checks all counters of a pool: one that is overdrawn keeps "
                        "all its devices with counters from being allocated, also those that do "
                        "not use it."
                    )
                    return


def _every(decision: Decision, scheduler: Scheduler) -> Iterator[str]:
    """Requests for all devices that abort the attempt."""
    for answer in decision.answers:
        if answer.verdict != FATAL:
            continue
        if "a constraint forbids device" in answer.why:
            yield (
                "Kubernetes gives up here: a constraint that a request for all devices violates "
                "ends the attempt, even if another choice for an earlier request would fit."
            )
        elif "asks for all devices, but pool" in answer.why:
            yield (
                "Kubernetes gives up here: a request for all devices fails as long as any pool of "
                "the node is incomplete or invalid, also one of another driver."
            )
        elif "node selector with" in answer.why:
            yield (
                "Kubernetes gives up here: devices of slices with several node selector terms are "
                "found and then cannot be allocated."
            )
        elif "selector #" in answer.why:
            yield (
                "Kubernetes gives up here: a selector that fails on one device ends the attempt "
                "for the pod; whether it is reached depends on the order of devices and nodes."
            )


def _alternatives(decision: Decision) -> Iterator[str]:
    """Pods of a group cannot make room for each other."""
    placed: NodeAnswer | None = decision.chosen
    if placed is None or placed.verdict != FITS:
        return
    firsts = [
        result["request"]
        for allocation in placed.results
        for result in results_of(allocation)
        if "/" in result["request"]
    ]
    if firsts and decision.subject.pod is not None:
        group = (decision.subject.pod.get("spec") or {}).get("schedulingGroup")
        if group:
            yield (
                "Each pod of a group takes its first alternative that fits: nobody goes back on "
                f"another pod's choice ({_ISSUES}138765)."
            )

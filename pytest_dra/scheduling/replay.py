"""What a cluster's scheduler has decided, decided once more in the same order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any
from typing import Final

from pytest_dra.allocator import nodes
from pytest_dra.scheduling import subjects
from pytest_dra.scheduling.cluster import Cluster
from pytest_dra.scheduling.cluster import Key
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import device_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.scheduling.deciding import FITS
from pytest_dra.scheduling.deciding import Scheduler
from pytest_dra.scheduling.subjects import Subject

Json = dict[str, Any]

SAME: Final = "same"
OTHER: Final = "differs"
REFUSED: Final = "no-fit-here"
PENDING: Final = "pending-there"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One subject: the devices that the cluster has given it, and those it would get here."""

    namespace: str
    name: str
    verdict: str
    node: str
    theirs: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    why: str = ""


def replay(cluster: Cluster, scheduler: Scheduler) -> Iterator[Row]:
    """Compare all allocations, oldest first, and then what is pending.

    Each is decided with what was in use when it was made, as far as that is still known: claims
    that have gone since are missing.
    """
    for claim in cluster.claims.values():
        allocation = allocation_of(claim)
        if allocation is not None:
            scheduler.state.remove(allocation)
    done: set[Key] = set()
    for subject in _in_order(cluster):
        todo = [one for one in subject.claims if allocation_of(one) and key_of(one) not in done]
        if todo:
            done.update(key_of(one) for one in todo)
            yield _again(cluster, scheduler, subject, todo)
    for subject in subjects.pending(cluster):
        decision = scheduler.decide(subject)
        if decision.chosen is not None:
            yield Row(
                namespace=subject.key[0], name=f"{subject.kind}/{subject.key[1]}",
                verdict=PENDING, node=decision.chosen.node,
                ours=_devices(decision.chosen.results),
            )  # fmt: skip
        scheduler.accept(decision)


def _again(cluster: Cluster, scheduler: Scheduler, subject: Subject, todo: list[Json]) -> Row:
    theirs = [one["status"]["allocation"] for one in todo]
    bare = []
    for one in todo:
        status = {name: value for name, value in one["status"].items() if name != "allocation"}
        meta = {name: one["metadata"][name] for name in one["metadata"] if name not in _LATER}
        bare.append({**one, "metadata": meta, "status": status})
    pod = subject.pod if subject.node else None
    again = dataclasses.replace(subject, claims=tuple(bare), pod=pod, extended=(), fault="")
    node = subject.node or _node_of(cluster, theirs)
    decision = scheduler.decide(again, names=[node])
    for allocation in theirs:
        scheduler.state.add(allocation)
    ours = decision.chosen.results if decision.chosen else ()
    verdict = REFUSED if decision.verdict != FITS else OTHER
    if ours and [_plain(one) for one in ours] == [_plain(one) for one in theirs]:
        verdict = SAME
    return Row(
        namespace=subject.key[0], name=f"{subject.kind}/{subject.key[1]}", verdict=verdict,
        node=node, theirs=_devices(theirs), ours=_devices(ours),
        why=decision.why if verdict == REFUSED else "",
    )  # fmt: skip


_LATER: Final = ("deletionTimestamp",)
"""What a claim had not yet when it was allocated."""


def _in_order(cluster: Cluster) -> list[Subject]:
    pods = [subjects.of_pod(pod, cluster) for pod in cluster.pods.values()]
    used = {key_of(claim) for one in pods for claim in one.claims}
    alone = [
        subjects.of_claim(claim)
        for key, claim in cluster.claims.items()
        if key not in used and allocation_of(claim) is not None
    ]
    return sorted([*pods, *alone], key=_when)


def _when(subject: Subject) -> str:
    """When it was decided, as far as anything says."""
    for claim in subject.claims:
        stamp = (allocation_of(claim) or {}).get("allocationTimestamp")
        if stamp:
            return str(stamp)
    for condition in ((subject.pod or {}).get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return str(condition.get("lastTransitionTime") or "")
    holder = subject.pod or subject.claims[0]
    return str((holder.get("metadata") or {}).get("creationTimestamp") or "")


def _node_of(cluster: Cluster, allocations: list[Json]) -> str:
    """A node from which allocations can be used: the first one."""
    selectors = [one.get("nodeSelector") for one in allocations]
    for name, node in cluster.nodes.items():
        try:
            if all(one is None or nodes.selects(one, node) for one in selectors):
                return name
        except nodes.SelectorError:
            continue
    return ""


def _plain(allocation: Json) -> list[tuple[Any, ...]]:
    """What of an allocation is decided: without ids of shares."""
    return [
        (
            one.get("request"), one.get("driver"), one.get("pool"), one.get("device"),
            bool(one.get("adminAccess")), bool(one.get("shareID")),
        )
        for one in results_of(allocation)
    ]  # fmt: skip


def _devices(allocations: Any) -> tuple[str, ...]:
    return tuple(
        "/".join(device_of(one)) for allocation in allocations for one in results_of(allocation)
    )

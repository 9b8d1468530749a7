"""Who gives devices to the pods of a whole cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dra.allocator import rules_of
from pytest_dra.bench.allocating import Allocator
from pytest_dra.bench.allocating import ElsewhereScheduler
from pytest_dra.bench.allocating import KubeScheduler
from pytest_dra.bench.allocating import ReferenceScheduler

if TYPE_CHECKING:
    from pytest_dra.live.setup import LiveSetup


def allocator_of(setup: LiveSetup, namespace: str) -> Allocator:
    """The cluster's own one, or ours, which one process runs for all that use the cluster."""
    cluster, rules, meeting = setup.cluster, rules_of(setup.version), setup.meeting
    here = (namespace,)
    if not setup.own_allocator:
        return KubeScheduler(cluster, rules=rules, namespaces=here)
    if meeting is not None and setup.joins:
        return ElsewhereScheduler(cluster, rules=rules, namespaces=here, asks=meeting.serve)
    made = ReferenceScheduler(cluster, rules=rules, namespaces=here)
    if meeting is not None:
        made.also = meeting.serves
    return made

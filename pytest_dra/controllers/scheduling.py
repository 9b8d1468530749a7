"""A scheduler for the pods that ask for it by ``schedulerName``: watch, allocate, reserve, bind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pytest_dra.allocator import Index
from pytest_dra.allocator import Rules
from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.controllers import podclaims
from pytest_dra.controllers.leading import RETRY_S
from pytest_dra.controllers.leading import Leader
from pytest_dra.controllers.looping import Follower
from pytest_dra.controllers.looping import Within
from pytest_dra.controllers.looping import everywhere
from pytest_dra.controllers.placing import Placer
from pytest_dra.kube import Client
from pytest_dra.scheduling import Cluster
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import subjects
from pytest_dra.scheduling.cluster import ENDED
from pytest_dra.scheduling.deciding import index_of
from pytest_dra.spec import Json

NAME: Final = "dra-allocator"
"""The ``schedulerName`` of the pods that are scheduled here."""

BACKOFF_S: Final = 1.0
"""Pause after a round that left pods waiting, as the first of kube-scheduler's."""

_LISTED: Final = (
    resources.RESOURCE_SLICES,
    resources.DEVICE_CLASSES,
    resources.DEVICE_TAINT_RULES,
    resources.RESOURCE_CLAIMS,
    resources.NODES,
    resources.PODS,
)

_OPTIONAL: Final = (resources.DEVICE_TAINT_RULES, resources.POD_GROUPS)
"""What a server may not have."""


def _listed(rules: Rules) -> tuple[Resource, ...]:
    return (*_LISTED, resources.POD_GROUPS) if rules.group_claims else _LISTED


class SchedulerLoop(Follower):
    """Schedules until it is stopped.

    Args:
        client: with the rights of a scheduler.
        rules: whose answers are given.
        name: which pods are scheduled, and the component in events.
        leader: only while it leads anything is written; None to be alone.
        namespace: only pods of this namespace; of all if it is empty.
        within: only pods of these namespaces.
        backoff_s: pause in seconds after a round that left pods waiting.
    """

    def __init__(
        self,
        client: Client,
        rules: Rules,
        *,
        name: str = NAME,
        leader: Leader | None = None,
        namespace: str = "",
        within: Within = everywhere,
        backoff_s: float = BACKOFF_S,
    ) -> None:
        super().__init__(client, _listed(rules), optional=_OPTIONAL)
        self._rules = rules
        self._name = name
        self._leader = leader
        self._namespace = namespace
        self._within = within
        self._backoff_s = backoff_s
        self._placer = Placer(client, name)
        self._index: Index | None = None
        self._indexed: tuple[int, ...] = ()

    def run(self) -> None:
        """Until :meth:`stop` is called.

        Raises:
            SyncError: the objects of the cluster could not be read.
        """
        try:
            with self._following():
                self._go_on()
        finally:
            if self._leader is not None:
                self._leader.release()

    def _go_on(self) -> None:
        while not self.stopped:
            if not self._leads():
                self._stopped.wait(RETRY_S)
                continue
            # The lease has to be renewed also while nothing changes.
            due = self._placer.owes or self._changed.wait(RETRY_S)
            self._changed.clear()
            if due and not self._round():
                # All that came in the meantime is one change then.
                self._stopped.wait(self._backoff_s)

    def _leads(self) -> bool:
        if self._leader is None:
            return True
        leads = self._leader.hold()
        if not leads:
            # What was seen so far is looked at again when it is this one's turn.
            self._placer.owes = True
        return leads

    def _round(self) -> bool:
        """Decide for all pods that wait; False if some still do."""
        self._placer.owes = False
        pods = self._informers[resources.PODS].objects()
        waiting = [one for one in pods if self._is_ours(one)]
        if not waiting:
            return True
        cluster = Cluster(self._objects(), group_claims=self._rules.group_claims)
        queue = sorted((subjects.of_pod(one, cluster) for one in waiting), key=subjects.rank)
        scheduler = Scheduler(cluster, self._rules, index=self._current_index(cluster))
        placed = 0
        for subject in queue:
            if self.stopped or not self._leads():
                return True
            for resource, obj in self._placer.place(scheduler, subject):
                self.written(resource, obj)
                placed += resource is resources.PODS and bool(obj["spec"].get("nodeName"))
        return placed == len(waiting)

    def _objects(self) -> Iterable[Json]:
        """All objects; claims as copies, because what is decided is noted in them."""
        for resource, informer in self._informers.items():
            found = informer.objects()
            yield from map(dict, found) if resource is resources.RESOURCE_CLAIMS else found

    def _is_ours(self, pod: Json) -> bool:
        """True for a pod that waits for this scheduler."""
        spec = pod.get("spec") or {}
        if spec.get("schedulerName") != self._name or spec.get("nodeName"):
            return False
        namespace = str(pod["metadata"].get("namespace") or "")
        if self._namespace not in ("", namespace) or not self._within(namespace):
            return False
        if (pod.get("status") or {}).get("phase") in ENDED or not podclaims.are_made(pod):
            return False
        return not pod["metadata"].get("deletionTimestamp")

    def _current_index(self, cluster: Cluster) -> Index:
        """The index of the slices; a new one if they, or the rules of taints, have changed."""
        kinds = (resources.RESOURCE_SLICES, resources.DEVICE_TAINT_RULES)
        revisions = tuple(self._informers[one].revision for one in kinds)
        if self._index is None or revisions != self._indexed:
            self._index = index_of(cluster, self._rules)
            self._indexed = revisions
        return self._index

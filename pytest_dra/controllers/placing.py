"""One pod at a time: allocation, reservation, binding, and what is said about it."""

from __future__ import annotations

import logging
from collections.abc import Generator
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.resources import Resource
from pytest_dra.api.times import stamp
from pytest_dra.controllers import allocations
from pytest_dra.controllers import podclaims
from pytest_dra.controllers.allocations import ReservationError
from pytest_dra.controllers.conditions import merged
from pytest_dra.controllers.events import MESSAGE_MAX
from pytest_dra.controllers.events import NORMAL
from pytest_dra.controllers.events import WARNING
from pytest_dra.controllers.events import Events
from pytest_dra.kube import CONFLICT
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.scheduling import Decision
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import Subject
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling import extended
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.conditions import WAITING
from pytest_dra.scheduling.conditions import readiness
from pytest_dra.scheduling.deciding import NodeAnswer
from pytest_dra.scheduling.deciding import placed
from pytest_dra.scheduling.podresources import STATUSES
from pytest_dra.spec import Json

_LOG: Final = logging.getLogger(__name__)

_REFUSED: Final = "FailedScheduling"
"""The reason of the event of a pod that has no node."""

Written = tuple[Resource, Json]


class Placer:
    """Writes what was decided. ``owes`` is true if something has to be tried again soon."""

    def __init__(self, client: Client, component: str) -> None:
        self.owes = False
        self._client = client
        self._events = Events(client, component)

    def place(self, scheduler: Scheduler, subject: Subject) -> Iterator[Written]:
        """Place one pod if it can be; yields the objects that were written."""
        pod = subject.pod or {}
        if subject.fresh:
            yield from self._refuse(pod, "waiting for claims to be made of templates")
            return
        decision = scheduler.decide(subject)
        try:
            if decision.chosen is None:
                yield from self._refuse(pod, decision.why)
                if decision.given_back is not None:
                    yield from self._give_back(scheduler, decision.given_back)
                return
            yield from self._write(scheduler, decision)
        except KubeError as error:
            # Somebody was faster, or the server is in trouble: look again.
            self.owes = True
            if error.code not in (CONFLICT, NOT_FOUND):
                _LOG.warning("pod %s: %s", "/".join(subject.key), error)
        except ReservationError as error:
            yield from self._refuse(pod, str(error))

    def _write(self, scheduler: Scheduler, decision: Decision) -> Iterator[Written]:
        subject, chosen = decision.subject, decision.chosen
        pod = subject.pod
        if chosen is None or pod is None:
            return
        claims = yield from self._write_claims(scheduler, subject, chosen, pod)
        if scheduler.rules.binding:
            ready = yield from self._are_ready(scheduler, claims, pod)
            if not ready:
                return
        namespace, name = subject.key
        uid = str(pod["metadata"].get("uid") or "")
        if chosen.taken:
            body = {"status": {STATUSES: list(chosen.taken)}}
            self._client.patch(
                resources.PODS, name, body, namespace=namespace, subresource="status"
            )
            pod = placed(pod, chosen)
        self._client.bind(namespace, name, uid, chosen.node)
        scheduler.guests(chosen.node).append(pod)
        yield resources.PODS, {**pod, "spec": {**pod["spec"], "nodeName": chosen.node}}
        text = f"Successfully assigned {namespace}/{name} to {chosen.node}"
        self._events.tell(pod, NORMAL, "Scheduled", text)

    def _write_claims(
        self, scheduler: Scheduler, subject: Subject, chosen: NodeAnswer, pod: Json
    ) -> Generator[Written, None, list[Json]]:
        """Allocate and reserve; the claims as they are then."""
        given = {
            key_of(claim): allocation
            for claim, allocation in zip(chosen.claims, chosen.results, strict=True)
        }
        wanted = list(subject.claims)
        for claim in chosen.claims:
            if extended.is_made(claim) and not claim["metadata"].get("resourceVersion"):
                wanted.append(self._make(claim, pod, subject, scheduler, chosen.node))
                given[key_of(wanted[-1])] = given.pop(key_of(claim))
        for claim in wanted:
            allocation = given.get(key_of(claim))
            if allocation is not None and scheduler.rules.binding:
                allocation["allocationTimestamp"] = stamp()
            groups = scheduler.rules.group_claims
            is_reserved = consumers.is_reserved(claim, pod, groups=groups)
            if allocation is not None or not is_reserved:
                consumer = subject.consumers.get(key_of(claim)) or consumers.of(pod)
                made = allocations.write(self._client, claim, allocation, consumer)
                yield resources.RESOURCE_CLAIMS, made
                claim["status"] = made.get("status") or {}
                claim["metadata"] = made["metadata"]
                if allocation is not None:
                    scheduler.state.add(allocation)
        return wanted

    def _are_ready(
        self, scheduler: Scheduler, claims: Sequence[Json], pod: Json
    ) -> Generator[Written, None, bool]:
        """False if binding conditions are waited for, or are lost: then begin again."""
        for claim in claims:
            found = readiness(claim, scheduler.clock())
            if found.lost:
                self._events.repeat(pod, WARNING, _REFUSED, found.why)
                yield from self._give_back(scheduler, claim)
                return False
            if found.state == WAITING:
                self.owes = True
                return False
        return True

    def _make(
        self, claim: Json, pod: Json, subject: Subject, scheduler: Scheduler, node: str
    ) -> Json:
        """Make the claim for extended resources, and note it in the pod."""
        namespace, name = key_of(pod)
        body = {
            "metadata": {
                "generateName": f"{claim['metadata']['name']}-",
                "annotations": claim["metadata"]["annotations"],
                "ownerReferences": [podclaims.reference_to(pod)],
            },
            "spec": claim["spec"],
        }
        made = self._client.create(resources.RESOURCE_CLAIMS, body, namespace=namespace)
        cluster = scheduler.cluster
        backed = extended.backed(subject.extended, cluster.nodes[node])
        _, mappings = extended.requests_of(pod, backed, cluster.resources)
        status = {
            "extendedResourceClaimStatus": {
                "resourceClaimName": made["metadata"]["name"],
                "requestMappings": mappings,
            }
        }
        self._client.patch(
            resources.PODS, name, {"status": status}, namespace=namespace, subresource="status"
        )
        return made

    def _give_back(self, scheduler: Scheduler, claim: Json) -> Iterator[Written]:
        """Take an allocation away that cannot be used: begin again."""
        allocation = allocation_of(claim)
        namespace, name = key_of(claim)
        version = claim["metadata"].get("resourceVersion")
        body = {
            "metadata": {"resourceVersion": version},
            "status": {"allocation": None, "reservedFor": None, "devices": None},
        }
        made = self._client.patch(
            resources.RESOURCE_CLAIMS, name, body, namespace=namespace, subresource="status"
        )
        if allocation is not None:
            scheduler.state.remove(allocation)
        yield resources.RESOURCE_CLAIMS, made
        self.owes = True

    def _refuse(self, pod: Json, why: str) -> Iterator[Written]:
        """Say why a pod has no node, once."""
        if not self._events.tell(pod, WARNING, _REFUSED, why):
            return
        condition = {
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": why[:MESSAGE_MAX], "lastTransitionTime": stamp(),
        }  # fmt: skip
        namespace, name = key_of(pod)
        body = {"status": {"conditions": merged(pod, [condition])}}
        try:
            made = self._client.patch(
                resources.PODS, name, body, namespace=namespace, subresource="status"
            )
        except KubeError as error:
            _LOG.info("pod %s/%s: %s", namespace, name, error)
            return
        yield resources.PODS, made

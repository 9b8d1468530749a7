"""The node's part for pods: API server and container runtime of the kubelet stand-in.

What is done when is the stand-in's (``pytest_dra.kubelet``). No container is started.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import threading
from collections.abc import Callable
from collections.abc import Sequence
from typing import Final

from pytest_dra.api import resources
from pytest_dra.api.times import stamp
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.instance import Instance
from pytest_dra.controllers import podclaims
from pytest_dra.controllers.conditions import merged
from pytest_dra.controllers.events import WARNING
from pytest_dra.controllers.events import Events
from pytest_dra.controllers.looping import ControlLoop
from pytest_dra.controllers.looping import Within
from pytest_dra.controllers.looping import everywhere
from pytest_dra.controllers.looping import pause_after
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.kubelet.answers import ClaimRef
from pytest_dra.kubelet.checkpoint import KeptClaim
from pytest_dra.kubelet.podhost import ClaimObject
from pytest_dra.kubelet.podhost import ClaimUnreadable
from pytest_dra.kubelet.podhost import ClaimUse
from pytest_dra.kubelet.podhost import Containers
from pytest_dra.kubelet.podhost import Pod
from pytest_dra.kubelet.podhost import PodClaim
from pytest_dra.kubelet.podhost import PodStatus
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling.cluster import ENDED
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.spec import Json
from pytest_dra.wire.answers import NodeReply

COMPONENT: Final = "kubelet"

SUCCEEDED: Final = "Succeeded"
"""The phase of pods whose containers end because they are told to."""

NOT_READY: Final = "node.kubernetes.io/not-ready"
"""The taint of a node whose kubelet has not been heard of."""

ROOM: Final = {"cpu": "64", "memory": "256Gi", "pods": "110"}
"""What a node offers to pods: enough for whatever a test asks for."""

MEANT: Final = ("labels", "annotations", "deletionTimestamp")
"""Metadata whose change has a kubelet look at a pod at once, as one of the spec does."""


class PodAgent(ControlLoop):
    """Acts for the pods that are bound to the node of an instance.

    It is the :class:`pytest_dra.kubelet.podhost.PodHost` of the instance's kubelet while it runs.
    Whatever the kubelet has to tell the API server is written by the loop, in its order.

    Args:
        client: with the rights of an administrator.
        instance: a driver on its node, with the kubelet that calls it.
        within: the namespaces whose pods are meant.
    """

    def __init__(self, client: Client, instance: Instance, *, within: Within = everywhere) -> None:
        super().__init__(client, (resources.PODS,), within=within)
        self._instance = instance
        self._kubelet = instance.kubelet
        self._events = Events(client, COMPONENT)
        self._lock = threading.Lock()
        self._serves = False
        self._seen: dict[str, tuple[Pod, list[object]]] = {}
        self._containers: dict[str, Containers] = {}
        self._last_phases: dict[str, str] = {}
        self._claims: dict[str, Claim] = {}
        self._writes: collections.deque[Callable[[], None]] = collections.deque()

    def run(self) -> None:
        """Until :meth:`stop` is called; the node is ready from now on."""
        self._make_ready()
        try:
            super().run()
        finally:
            self._kubelet.leave()

    def finish(self, uid: str, phase: str) -> None:
        """Let the containers of a pod end: it is ``Succeeded`` or ``Failed`` after that."""
        with self._lock:
            self._last_phases[uid] = phase
            self._containers[uid] = Containers.ENDED
        self._notice(uid)

    def claims_of(self, uid: str) -> tuple[KeptClaim, ...]:
        """The claims that are prepared, or being prepared, for a pod."""
        return tuple(kept for kept in self._kubelet.claims() if uid in kept.pods)

    def round(self) -> float | None:
        """Tell the kubelet what is new, and the API server what the kubelet has told."""
        fresh = {str(one["metadata"].get("uid")): one for one in self._of_node()}
        if not self._serves:
            self._serves = True
            self._kubelet.serve(
                self,
                prepare=functools.partial(self._call, prepares=True),
                unprepare=functools.partial(self._call, prepares=False),
            )
        for uid, found in fresh.items():
            pod = _pod(found)
            seen = (pod, [found.get("spec"), *(found["metadata"].get(key) for key in MEANT)])
            if self._seen.get(uid) != seen:
                self._seen[uid] = seen
                self._tell(pod)
        for uid in set(self._seen) - set(fresh):
            pod, _ = self._seen.pop(uid)
            self._tell(_removed(pod))
        return self._write()

    def _of_node(self) -> list[Json]:
        node = self._instance.node
        return [
            one
            for one in self.objects(resources.PODS)
            if (one.get("spec") or {}).get("nodeName") == node
        ]

    def _tell(self, pod: Pod) -> None:
        if self._kubelet.pods is not None:
            self._kubelet.pods.update(pod)

    def _notice(self, uid: str) -> None:
        if self._kubelet.pods is not None:
            self._kubelet.pods.noticed(uid)

    def _write(self) -> float | None:
        """Write what is owed; what fails is tried again, unless the pod is gone."""
        while self._writes and not self.stopped:
            try:
                self._writes[0]()
            except KubeError as error:
                if error.code != NOT_FOUND:
                    return pause_after(error)
            self._writes.popleft()
        return None

    def _owe(self, write: Callable[[], None]) -> None:
        self._writes.append(write)
        self.wake()

    # ------------------------------------------------------------ what the kubelet asks
    def pods(self) -> Sequence[Pod]:
        """See :class:`pytest_dra.kubelet.podhost.PodHost`, also for the others."""
        return [_pod(one) for one in self._of_node()]

    def claim(self, pod: Pod, claim: PodClaim) -> ClaimObject:
        """The claim, asked of the API server."""
        try:
            found = self.client.get(resources.RESOURCE_CLAIMS, claim.name, namespace=pod.namespace)
        except KubeError as error:
            raise ClaimUnreadable(str(error)) from error
        results = results_of(allocation_of(found))
        uid = str(found["metadata"]["uid"])
        made = Claim(
            namespace=pod.namespace,
            name=claim.name,
            uid=uid,
            requests=tuple(str(one["request"]) for one in results),
            results=tuple(results),
        )
        with self._lock:
            self._claims[uid] = made
        whole = self._object(pod)
        is_foreign = claim.owned and not podclaims.is_of(found, whole)
        return ClaimObject(
            ref=made.ref,
            drivers=tuple(dict.fromkeys(str(one["driver"]) for one in results)),
            reserved=consumers.is_reserved(found, whole, groups=True),
            foreign=f"claim {made} was not made for the pod" if is_foreign else "",
        )

    def tell(self, pod: Pod, reason: str, message: str) -> None:
        """An event."""
        found = self._object(pod)

        def write() -> None:
            self._events.tell(found, WARNING, reason, message)

        self._owe(write)

    def show(self, pod: Pod, status: PodStatus) -> None:
        """The status."""
        self._owe(lambda: self._show(pod, status))

    def remove(self, pod: Pod) -> None:
        """The deletion."""

        def write() -> None:
            self.client.delete(resources.PODS, pod.name, namespace=pod.namespace, uid=pod.uid)

        self._owe(write)

    def containers(self, pod: Pod) -> Containers:
        """What would run."""
        with self._lock:
            return self._containers.get(pod.uid, Containers.NONE)

    def last_phase(self, pod: Pod) -> str:
        """What the test has said, or the phase of what is told to end."""
        with self._lock:
            return self._last_phases.get(pod.uid, SUCCEEDED)

    def start(self, pod: Pod) -> None:
        """Have the containers run."""
        self._set(pod, Containers.RUNNING)

    def kill(self, pod: Pod) -> None:
        """Have them ended; what never ran is gone."""
        if self.containers(pod) is not Containers.NONE:
            self._set(pod, Containers.ENDED)

    def _set(self, pod: Pod, containers: Containers) -> None:
        with self._lock:
            before = self._containers.get(pod.uid)
            # A test may have ended what is only now started.
            if before is not Containers.ENDED:
                self._containers[pod.uid] = containers
        if before is not containers:
            self._notice(pod.uid)

    def _object(self, pod: Pod) -> Json:
        """The pod as it was seen last."""
        for one in self.objects(resources.PODS):
            if one["metadata"].get("uid") == pod.uid:
                return one
        return {"metadata": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}}

    def _call(self, driver: str, refs: Sequence[ClaimRef], *, prepares: bool) -> NodeReply:
        """Call by the instance, which watches what its driver does meanwhile."""
        instance = self._instance
        if driver == instance.driver_name:
            with self._lock:
                claims = [self._claims.get(ref.uid) or _unknown(ref) for ref in refs]
            return instance.prepare(claims) if prepares else instance.unprepare(claims)
        kubelet = self._kubelet
        return kubelet.prepare(driver, refs) if prepares else kubelet.unprepare(driver, refs)

    # ------------------------------------------------------------ what the API server shows
    def _make_ready(self) -> None:
        name = self._instance.node
        node = self.client.get(resources.NODES, name)
        taints = [
            one
            for one in (node.get("spec") or {}).get("taints") or ()
            if one.get("key") != NOT_READY
        ]
        self.client.patch(resources.NODES, name, {"spec": {"taints": taints or None}})
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {
            "conditions": merged(node, [ready]),
            "capacity": ROOM,
            "allocatable": ROOM,
        }
        self.client.patch(resources.NODES, name, {"status": status}, subresource="status")

    def _show(self, pod: Pod, status: PodStatus) -> None:
        whole = self._object(pod)
        runs = "True" if status.phase == "Running" else "False"
        names = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        conditions = [
            {
                "type": one,
                "status": "True" if one in ("Initialized", "PodScheduled") else runs,
                "lastTransitionTime": stamp(),
            }
            for one in names
        ]
        had = whole.get("status") or {}
        body = {
            "metadata": {"uid": pod.uid},
            "status": {
                "phase": status.phase,
                "startTime": had.get("startTime") or stamp(),
                "conditions": merged(whole, conditions),
                "containerStatuses": _container_statuses(whole, status) or None,
            },
        }
        written = self.client.patch(
            resources.PODS, pod.name, body, namespace=pod.namespace, subresource="status"
        )
        self.written(resources.PODS, written)


def _pod(found: Json) -> Pod:
    """A pod object as a kubelet sees it."""
    meta, spec = found["metadata"], found.get("spec") or {}
    return Pod(
        uid=str(meta.get("uid")),
        namespace=str(meta.get("namespace") or ""),
        name=str(meta["name"]),
        claims=tuple(
            PodClaim(str(entry["name"]) if entry else "", name, owned=owned)
            for name, owned, entry in podclaims.named_entries(found)
        ),
        uses=tuple(
            (
                str(one["name"]),
                tuple(
                    ClaimUse(str(use["name"]), str(use.get("request") or ""))
                    for use in (one.get("resources") or {}).get("claims") or ()
                ),
            )
            for one in spec.get("containers") or ()
        ),
        deleted=bool(meta.get("deletionTimestamp")),
        ended=(found.get("status") or {}).get("phase") in ENDED,
    )


def _removed(pod: Pod) -> Pod:
    """A pod that the API server has no more."""
    return dataclasses.replace(pod, removed=True)


def _unknown(ref: ClaimRef) -> Claim:
    """A claim of which nothing is known but what a call needs."""
    return Claim(namespace=ref.namespace, name=ref.name, uid=ref.uid, requests=(), results=())


def _container_statuses(whole: Json, status: PodStatus) -> list[Json]:
    """The health of devices by container; nothing where none is known of."""
    if not status.resources:
        return []
    return [
        {
            "name": one["name"],
            "image": one.get("image") or "",
            "imageID": "",
            "ready": status.phase == "Running",
            "restartCount": 0,
            "allocatedResourcesStatus": [
                {
                    "name": each.name,
                    "resources": [
                        {
                            "resourceID": device.resource_id,
                            "health": device.health,
                            **({"message": device.message} if device.message else {}),
                        }
                        for device in each.resources
                    ],
                }
                for each in status.resources
                if each.container == one["name"]
            ],
        }
        for one in (whole.get("spec") or {}).get("containers") or ()
    ]

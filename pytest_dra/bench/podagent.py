"""The node's part for pods: claims are prepared before a pod runs, and unprepared after it.

No container is started. Facts: the DRA manager of the kubelet of Kubernetes 1.37.
"""

from __future__ import annotations

import dataclasses
import threading
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
from pytest_dra.controllers.looping import RETRY_S
from pytest_dra.controllers.looping import ControlLoop
from pytest_dra.controllers.looping import Within
from pytest_dra.controllers.looping import everywhere
from pytest_dra.controllers.looping import pause_after
from pytest_dra.controllers.looping import soonest
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.scheduling import consumers
from pytest_dra.scheduling.cluster import ENDED
from pytest_dra.scheduling.cluster import allocation_of
from pytest_dra.scheduling.cluster import key_of
from pytest_dra.scheduling.cluster import results_of
from pytest_dra.spec import Json
from pytest_dra.wire.answers import NodeReply
from pytest_dra.wire.answers import PreparedDevice

COMPONENT: Final = "kubelet"
PREPARING: Final = "FailedPrepareDynamicResources"
UNPREPARING: Final = "FailedUnprepareDynamicResources"

NOT_READY: Final = "node.kubernetes.io/not-ready"
"""The taint of a node whose kubelet has not been heard of."""

ROOM: Final = {"cpu": "64", "memory": "256Gi", "pods": "110"}
"""What a node offers to pods: enough for whatever a test asks for."""


class PrepareError(Exception):
    """A claim of a pod is not prepared (yet)."""


@dataclasses.dataclass(slots=True)
class Prepared:
    """A claim on the node: the pods that use it, and what each driver has answered for it."""

    claim: Claim
    drivers: tuple[str, ...]
    pods: set[str] = dataclasses.field(default_factory=set)
    devices: dict[str, tuple[PreparedDevice, ...]] = dataclasses.field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """True once every driver has prepared it."""
        return all(one in self.devices for one in self.drivers)


class PodAgent(ControlLoop):
    """Acts for the pods that are bound to the node of an instance.

    Args:
        client: with the rights of an administrator.
        instance: a driver on its node, with the kubelet that calls it.
        within: the namespaces whose pods are meant.
    """

    def __init__(self, client: Client, instance: Instance, *, within: Within = everywhere) -> None:
        super().__init__(client, (resources.PODS,), within=within)
        self._instance = instance
        self._events = Events(client, COMPONENT)
        self._lock = threading.Lock()
        self._prepared: dict[str, Prepared] = {}
        self._ending: dict[str, str] = {}
        self._known: set[str] = set()

    def run(self) -> None:
        """Until :meth:`stop` is called; the node is ready from now on."""
        self._make_ready()
        super().run()

    def finish(self, uid: str, phase: str) -> None:
        """Let the containers of a pod end: it is ``Succeeded`` or ``Failed`` after that."""
        with self._lock:
            self._ending[uid] = phase
        self.wake()

    def claims_of(self, uid: str) -> list[Prepared]:
        """The claims that are prepared, or being prepared, for a pod."""
        with self._lock:
            return [one for one in self._prepared.values() if uid in one.pods]

    def round(self) -> float | None:
        """Start and end what has to be."""
        node = self._instance.node
        pods = [
            one
            for one in self.objects(resources.PODS)
            if (one.get("spec") or {}).get("nodeName") == node
        ]
        known = {str(one["metadata"].get("uid")) for one in pods}
        pause: float | None = None
        for uid in self._known - known:
            # It was deleted without waiting for the node.
            pause = soonest(pause, RETRY_S if self._release(uid) else None)
        self._known = known | {uid for uid in self._known if self.claims_of(uid)}
        for pod in pods:
            if self.stopped:
                return None
            try:
                pause = soonest(pause, self._serve(pod))
            except KubeError as error:
                pause = soonest(pause, pause_after(error))
        return pause

    def _serve(self, pod: Json) -> float | None:
        uid = str(pod["metadata"].get("uid"))
        phase = (pod.get("status") or {}).get("phase")
        with self._lock:
            ending = self._ending.get(uid, "")
        if pod["metadata"].get("deletionTimestamp") or phase in ENDED or ending:
            return self._end(pod, uid, ending if phase not in ENDED else "")
        if phase == "Running":
            return None
        try:
            self._prepare(pod, uid)
        except PrepareError as error:
            self._events.tell(pod, WARNING, PREPARING, str(error))
            return RETRY_S
        self._show(pod, "Running")
        return None

    def _end(self, pod: Json, uid: str, phase: str) -> float | None:
        """Unprepare; only then anybody learns that the pod needs its claims no more."""
        error = self._release(uid)
        if error:
            self._events.tell(pod, WARNING, UNPREPARING, error)
            return RETRY_S
        if phase:
            self._show(pod, phase)
            with self._lock:
                self._ending.pop(uid, None)
        if pod["metadata"].get("deletionTimestamp"):
            namespace, name = key_of(pod)
            self.client.delete(resources.PODS, name, namespace=namespace, uid=uid)
        return None

    # claims

    def _prepare(self, pod: Json, uid: str) -> None:
        """Prepare what is not prepared yet, one call for each driver.

        Raises:
            PrepareError: the pod cannot run now.
        """
        wanted = [self._claim(pod, name, owned=owned) for name, owned in podclaims.names_of(pod)]
        with self._lock:
            for claim, drivers in wanted:
                held = self._prepared.setdefault(claim.uid, Prepared(claim=claim, drivers=drivers))
                held.pods.add(uid)
        self._known.add(uid)
        mine = self.claims_of(uid)
        for driver in dict.fromkeys(name for one in mine for name in one.drivers):
            todo = [one for one in mine if driver in one.drivers and driver not in one.devices]
            if todo:
                self._ask(driver, todo)

    def _claim(self, pod: Json, name: str, *, owned: bool) -> tuple[Claim, tuple[str, ...]]:
        namespace, _ = key_of(pod)
        found = self.client.get(resources.RESOURCE_CLAIMS, name, namespace=namespace)
        if owned and not podclaims.is_of(found, pod):
            raise PrepareError(f"claim {namespace}/{name} was not made for the pod")
        if not consumers.is_reserved(found, pod, groups=True):
            raise PrepareError(f"claim {namespace}/{name} is not reserved for the pod")
        results = results_of(allocation_of(found))
        claim = Claim(
            namespace=namespace,
            name=name,
            uid=str(found["metadata"]["uid"]),
            requests=tuple(str(one["request"]) for one in results),
            results=tuple(results),
        )
        return claim, tuple(dict.fromkeys(str(one["driver"]) for one in results))

    def _ask(self, driver: str, todo: Sequence[Prepared]) -> None:
        reply = self._call(driver, [one.claim for one in todo], prepares=True)
        errors = []
        for one in todo:
            error = reply.error_for(one.claim.uid)
            if error:
                errors.append(f"{one.claim}: NodePrepareResources of {driver}: {error}")
            else:
                with self._lock:
                    one.devices[driver] = reply.devices_of(one.claim.uid)
        if errors:
            raise PrepareError("; ".join(errors))

    def _release(self, uid: str) -> str:
        """Unprepare the claims of which a pod is the last user; what went wrong."""
        errors = []
        for one in self.claims_of(uid):
            if len(one.pods) > 1:
                with self._lock:
                    one.pods.discard(uid)
                continue
            error = self._unprepare(one)
            if error:
                errors.append(error)
                continue
            with self._lock:
                del self._prepared[one.claim.uid]
        return "; ".join(errors)

    def _unprepare(self, held: Prepared) -> str:
        """Also a claim of which nobody knows whether it was prepared."""
        for driver in held.drivers:
            reply = self._call(driver, [held.claim], prepares=False)
            error = reply.error_for(held.claim.uid)
            if error:
                return f"{held.claim}: NodeUnprepareResources of {driver}: {error}"
        return ""

    def _call(self, driver: str, claims: Sequence[Claim], *, prepares: bool) -> NodeReply:
        instance = self._instance
        if driver == instance.driver_name:
            return instance.prepare(claims) if prepares else instance.unprepare(claims)
        refs = [one.ref for one in claims]
        kubelet = instance.kubelet
        return kubelet.prepare(driver, refs) if prepares else kubelet.unprepare(driver, refs)

    # what the API server shows

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

    def _show(self, pod: Json, phase: str) -> None:
        namespace, name = key_of(pod)
        runs = "True" if phase == "Running" else "False"
        names = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        conditions = [
            {
                "type": one,
                "status": "True" if one in ("Initialized", "PodScheduled") else runs,
                "lastTransitionTime": stamp(),
            }
            for one in names
        ]
        had = pod.get("status") or {}
        body = {
            "metadata": {"uid": pod["metadata"].get("uid")},
            "status": {
                "phase": phase,
                "startTime": had.get("startTime") or stamp(),
                "conditions": merged(pod, conditions),
            },
        }
        written = self.client.patch(
            resources.PODS, name, body, namespace=namespace, subresource="status"
        )
        self.written(resources.PODS, written)

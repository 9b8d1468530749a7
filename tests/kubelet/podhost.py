"""An API server and a container runtime of a few lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pytest_dra.kubelet import ClaimRef
from pytest_dra.kubelet import Kubelet
from pytest_dra.kubelet.podhost import ClaimObject
from pytest_dra.kubelet.podhost import ClaimUse
from pytest_dra.kubelet.podhost import Containers
from pytest_dra.kubelet.podhost import Pod
from pytest_dra.kubelet.podhost import PodClaim
from pytest_dra.kubelet.podhost import PodStatus

DRIVER = "gpu.example.com"


class Host:
    """Pods are given to a kubelet by :meth:`run`; what it tells of them is kept.

    ``drivers`` and ``uids`` are those of claims by name, where they are not the usual ones.
    """

    def __init__(self, kubelet: Kubelet) -> None:
        self.kubelet = kubelet
        self.drivers: dict[str, tuple[str, ...]] = {}
        self.uids: dict[str, str] = {}
        self.unreserved: set[str] = set()
        self.events: list[str] = []
        self.shown: list[PodStatus] = []
        self.removed: list[str] = []
        self.state: dict[str, Containers] = {}
        self._pods: dict[str, Pod] = {}
        kubelet.serve(self)

    def run(self, name: str, *claims: str) -> Pod:
        """A pod with some claims comes to the node."""
        entries = tuple(PodClaim(f"c{number}", claim) for number, claim in enumerate(claims))
        uses = tuple(ClaimUse(each.entry) for each in entries)
        pod = Pod(
            uid=f"uid-of-{name}",
            namespace="default",
            name=name,
            claims=entries,
            uses=(("main", uses),),
        )
        return self.change(pod)

    def change(self, pod: Pod) -> Pod:
        """The pod is new, or another one than before."""
        self._pods[pod.uid] = pod
        if self.kubelet.pods is not None:
            self.kubelet.pods.update(pod)
        return pod

    def delete(self, pod: Pod) -> Pod:
        """A user deletes it."""
        return self.change(dataclasses.replace(pod, deleted=True))

    def forget(self, pod: Pod) -> None:
        """A user deletes it without waiting for the node."""
        self.change(dataclasses.replace(pod, removed=True))
        del self._pods[pod.uid]

    def end(self, pod: Pod) -> None:
        """Its containers end by themselves."""
        self._set(pod, Containers.ENDED)

    def lose(self, pod: Pod) -> None:
        """Its sandbox is lost."""
        self._set(pod, Containers.NONE)

    def phases(self) -> list[str]:
        """All phases that were shown."""
        return [status.phase for status in self.shown]

    def _set(self, pod: Pod, containers: Containers) -> None:
        self.state[pod.uid] = containers
        if self.kubelet.pods is not None:
            self.kubelet.pods.noticed(pod.uid)

    # ------------------------------------------------------------ PodHost
    def pods(self) -> Sequence[Pod]:
        return list(self._pods.values())

    def claim(self, pod: Pod, claim: PodClaim) -> ClaimObject:
        uid = self.uids.get(claim.name, f"uid-of-{claim.name}")
        return ClaimObject(
            ref=ClaimRef(pod.namespace, uid, claim.name),
            drivers=self.drivers.get(claim.name, (DRIVER,)),
            reserved=claim.name not in self.unreserved,
        )

    def tell(self, pod: Pod, reason: str, message: str) -> None:
        self.events.append(f"{pod.name} {reason}: {message}")

    def show(self, pod: Pod, status: PodStatus) -> None:
        self.shown.append(status)
        if status.phase in ("Succeeded", "Failed"):
            self._pods[pod.uid] = dataclasses.replace(self._pods[pod.uid], ended=True)

    def remove(self, pod: Pod) -> None:
        del self._pods[pod.uid]
        self.removed.append(pod.name)

    def containers(self, pod: Pod) -> Containers:
        return self.state.get(pod.uid, Containers.NONE)

    def last_phase(self, pod: Pod) -> str:
        return "Succeeded"

    def start(self, pod: Pod) -> None:
        self._set(pod, Containers.RUNNING)

    def kill(self, pod: Pod) -> None:
        if self.containers(pod) is not Containers.NONE:
            self._set(pod, Containers.ENDED)

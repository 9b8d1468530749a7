"""Pods of a case on a cluster: until they run, what they see, and until they are gone."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pytest_dra.api import resources
from pytest_dra.checks.overlaps import was_refused
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.remedies import OF_MACHINE
from pytest_dra.clusters.remedies import remedy_for
from pytest_dra.clusters.remedies import told
from pytest_dra.kube import NOT_FOUND
from pytest_dra.kube import Client
from pytest_dra.kube import KubeError
from pytest_dra.live.asking import CONTAINER
from pytest_dra.profile.model import Budgets
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

EVERY_S: Final = 0.2
"""Between two looks at a pod or claim."""

PROBE_S: Final = 30.0
"""Longest run of the injection probe in a container."""

NUDGE_S: Final = 2.0
"""Between two nudges of a pod that waits: twice as long as a Prepare takes that is refused."""

NUDGED: Final = "pytest-dra.dev/nudged"
NUDGE_BYTES: Final = 3
"""The annotation that changes then, and the bytes of its value."""

LINES_MAX: Final = 1000
"""Lines of a container's output that are read."""

EVENTS_SHOWN: Final = 3
"""Warnings that stand in a finding, the newest ones."""

IMAGE_TROUBLE: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}
)
"""Reasons of waiting containers that are nothing of the driver's."""

EVICTED: Final = "Evicted"
"""Reason of a pod that its kubelet has ended for want of disk, memory or processes: for good."""

OTHER_IMAGE: Final = "name an image that the nodes can get, with a shell in it: --dra-pod-image"
"""The way out for pods of ours."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pod:
    """A pod by its name and uid, as it was made."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"pod {self.namespace}/{self.name}"


class Pods:
    """See the module.

    Args:
        client: the suite's own identity.
        namespace: where they are made.
        budgets: how long they may take; images are on the node by then.
    """

    def __init__(self, client: Client, namespace: str, budgets: Budgets) -> None:
        self._client = client
        self._namespace = namespace
        self._budgets = budgets
        self._made: list[Pod] = []

    def create(self, name: str, spec: Json, *, labels: Mapping[str, str] | None = None) -> Pod:
        """Make a pod. Raises KubeError."""
        metadata: Json = {"name": name, **({"labels": dict(labels)} if labels else {})}
        made = self._client.create(
            resources.PODS, {"metadata": metadata, "spec": spec}, namespace=self._namespace
        )
        pod = Pod(self._namespace, name, str(made["metadata"]["uid"]))
        self._made.append(pod)
        return pod

    def state(self, pod: Pod) -> Json | None:
        """The pod as it is now; None if it is gone, or another one has its name."""
        try:
            found = self._client.get(resources.PODS, pod.name, namespace=pod.namespace)
        except KubeError as error:
            if error.code == NOT_FOUND:
                return None
            raise
        return found if found["metadata"]["uid"] == pod.uid else None

    def must_run(self, pod: Pod, *, want: str = "") -> Json:
        """Wait until all containers of a pod run; the pod. ``want``: what a finding says besides.

        Its kubelet is made to look again and again: by itself it does so a minute later only where
        a Prepare has failed, for instance since the driver published before it had registered.

        Raises:
            Violation: they do not, with what the cluster says of it.
            ClusterError: for a reason that is none of the driver's.
        """
        within_s = self._budgets.pod
        if self.runs_within(pod, within_s):
            return self.state(pod) or {}
        trouble = self._trouble(pod, self.state(pod) or {})
        remedy = remedy_for(trouble, OF_MACHINE)
        if remedy:
            raise ClusterError(told(f"{pod}: {trouble}", remedy))
        raise Violation(
            f"{pod}",
            got=trouble,
            want=f"all containers running within {within_s:g} s{want and f', {want}'}",
        )

    def runs_within(self, pod: Pod, seconds: float) -> bool:
        """Wait for the pod to run, so long at most. Raises ClusterError as :meth:`must_run`."""
        next_one = Deadline.after(NUDGE_S)

        def runs() -> bool:
            nonlocal next_one
            state = self.state(pod) or {}
            must_have_images(pod, state, way_out=OTHER_IMAGE)
            must_have_room(pod, state)
            found = _runs(state)
            if not found and next_one.passed:
                next_one = Deadline.after(NUDGE_S)
                self._nudge(pod)
            return found

        return bool(poll(runs, Deadline.after(seconds), every_s=EVERY_S))

    def runs_now(self, pod: Pod) -> bool:
        """Whether all containers of a pod run."""
        return _runs(self.state(pod) or {})

    def is_refused_within(self, pod: Pod, seconds: float) -> bool:
        """Wait until the cluster warns that a claim of the pod could not be prepared.

        Returns:
            Whether it does before the pod runs, and before the time is over.
        """
        refused = False

        def decided() -> bool:
            nonlocal refused
            refused = was_refused(self.warnings(pod))
            return refused or self.runs_now(pod)

        poll(decided, Deadline.after(seconds), every_s=EVERY_S)
        return refused

    def delete(self, pod: Pod, *, grace_s: int | None = None) -> None:
        """Ask for the pod's end; nothing if it is gone."""
        self._client.discard(
            resources.PODS, pod.name, namespace=pod.namespace, grace_s=grace_s, uid=pod.uid
        )

    def must_go(self, pod: Pod, *, nudged: bool = False) -> None:
        """Wait until a deleted pod is gone.

        ``nudged``: its kubelet is made to look again and again, as by :meth:`must_run`.

        Raises:
            Violation: it is not, with what the cluster says of it.
        """
        within_s = self._budgets.release
        if not self._gone(pod, within_s, nudged=nudged):
            raise Violation(
                f"{pod}, deleted",
                got=self._trouble(pod, self.state(pod) or {}),
                want=f"gone within {within_s:g} s",
            )

    def _gone(self, pod: Pod, within_s: float, *, nudged: bool = False) -> bool:
        next_one = Deadline.after(NUDGE_S)

        def gone() -> bool:
            nonlocal next_one
            if self.state(pod) is None:
                return True
            if nudged and next_one.passed:
                next_one = Deadline.after(NUDGE_S)
                self._nudge(pod)
            return False

        return bool(poll(gone, Deadline.after(within_s), every_s=EVERY_S))

    def run_in(self, pod: Pod, argv: Sequence[str], *, container: str = CONTAINER) -> str:
        """What a command says in a container.

        Raises:
            ClusterError: it cannot be run, or fails.
        """
        try:
            code, out, err = self._client.run(
                pod.namespace, pod.name, container, argv, timeout_s=PROBE_S
            )
        except KubeError as error:
            raise ClusterError(str(error)) from error
        if code:
            raise ClusterError(
                f"{argv[0]} in {pod}, container {container}: status {code}: {err.strip()[:200]}"
            )
        return out

    def told_by(self, pod: Pod, *, container: str) -> str:
        """What a container has printed.

        Raises:
            ClusterError: its output cannot be had.
        """
        try:
            return self._client.log(pod.namespace, pod.name, container, lines=LINES_MAX)
        except KubeError as error:
            raise ClusterError(f"output of {pod}, container {container}: {error}") from error

    def end(self, *pods: Pod) -> None:
        """Delete pods and wait until all of them are gone. Raises as :meth:`must_go`."""
        for pod in pods:
            self.delete(pod)
        for pod in pods:
            self.must_go(pod)

    def must_all_go(self) -> None:
        """Wait until all pods that were made, and deleted since, are gone. As :meth:`must_go`."""
        for pod in self._made:
            self.must_go(pod)

    def none_is_left(self, *, within_s: float) -> bool:
        """Wait until the namespace has no pods; whether it is so."""

        def gone() -> bool:
            with suppress(KubeError):
                return not self._client.list(resources.PODS, namespace=self._namespace)
            return False

        return bool(poll(gone, Deadline.after(within_s), every_s=EVERY_S))

    def clear(self) -> list[str]:
        """Delete all pods that were made, by force at last; those that are still there."""
        made, self._made = self._made, []
        for pod in made:
            with suppress(KubeError):
                self.delete(pod)
        left = [pod for pod in made if not self._gone(pod, self._budgets.release)]
        for pod in left:
            with suppress(KubeError):
                self.delete(pod, grace_s=0)
        return [str(pod) for pod in left]

    def _trouble(self, pod: Pod, state: Json) -> str:
        """What a pod waits for, in the words of the cluster."""
        warnings = self.warnings(pod)
        waiting = [f"container {name} {reason}" for name, reason in _waiting(state)]
        unready = [
            str(each.get("message"))
            for each in (state.get("status") or {}).get("conditions") or ()
            if each.get("status") == "False" and each.get("message")
        ]
        phase = (state.get("status") or {}).get("phase") or "gone"
        told = dict.fromkeys([*warnings, *(unready if not warnings else ()), *waiting])
        return "; ".join([phase, *told])

    def containers(self, pod: Pod) -> list[tuple[str, str, int]]:
        """Name, id and number of restarts of each container."""
        status = (self.state(pod) or {}).get("status") or {}
        return [
            (each["name"], str(each.get("containerID")), int(each.get("restartCount") or 0))
            for each in status.get("containerStatuses") or ()
        ]

    def _nudge(self, pod: Pod) -> None:
        """Change what nobody reads: a kubelet looks after a pod that has changed."""
        with suppress(KubeError):
            self._client.patch(
                resources.PODS,
                pod.name,
                {"metadata": {"annotations": {NUDGED: secrets.token_hex(NUDGE_BYTES)}}},
                namespace=pod.namespace,
            )

    def warnings(self, pod: Pod) -> list[str]:
        """What the cluster warns of at a pod, the newest last."""
        try:
            events = self._client.list(
                resources.EVENTS,
                namespace=pod.namespace,
                field_selector=f"involvedObject.uid={pod.uid},type=Warning",
            )
        except KubeError as error:
            return [f"no events: {error}"]
        events.sort(key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime") or ""))
        return [f"{each.get('reason')}: {each.get('message')}" for each in events[-EVENTS_SHOWN:]]


def _runs(state: Json) -> bool:
    status = state.get("status") or {}
    wanted = len((state.get("spec") or {}).get("containers") or ())
    running = [
        each
        for each in status.get("containerStatuses") or ()
        if "running" in (each.get("state") or {})
    ]
    return status.get("phase") == "Running" and len(running) == wanted > 0


def _waiting(state: Json) -> list[tuple[str, str]]:
    status = state.get("status") or {}
    every = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return [
        (str(each.get("name")), str(waiting.get("reason") or waiting.get("message") or ""))
        for each in every
        if (waiting := (each.get("state") or {}).get("waiting"))
    ]


def must_have_images(pod: object, state: Json, *, way_out: str) -> None:
    """Raises ClusterError for a pod of which an image cannot be had, which no driver can help."""
    images = {
        str(each.get("name")): str(each.get("image"))
        for field in ("initContainers", "containers")
        for each in (state.get("spec") or {}).get(field) or ()
    }
    for name, reason in _waiting(state):
        if reason in IMAGE_TROUBLE:
            raise ClusterError(
                f"{pod}, container {name}: {reason}: the node has no image {images.get(name)} and "
                f"cannot pull it; {way_out}"
            )


def must_have_room(pod: object, state: Json) -> None:
    """Raises ClusterError for a pod that its node had no room for, which no driver can help."""
    status = state.get("status") or {}
    if status.get("reason") == EVICTED:
        said = f"{EVICTED}: {str(status.get('message') or '').rstrip(' .')}"
        raise ClusterError(told(f"{pod}: {said}", remedy_for(said, OF_MACHINE)))

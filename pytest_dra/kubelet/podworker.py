"""What a kubelet does for one pod: prepare and start, look again, stop, unprepare, finish.

Source: pkg/kubelet, pod_workers.go and kubelet.go of 1.37, read, and the recordings ``prepare-*``,
``unprepare-*`` and ``restart-*``.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from typing import Protocol

from pytest_dra.kubelet.chance import Chance
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.podclaims import ClaimError
from pytest_dra.kubelet.podclaims import PodClaims
from pytest_dra.kubelet.podhost import Containers
from pytest_dra.kubelet.podhost import Pod
from pytest_dra.kubelet.podhost import PodHost
from pytest_dra.kubelet.podhost import PodStatus
from pytest_dra.kubelet.podhost import ResourceStatus
from pytest_dra.kubelet.podhost import StatusRefused
from pytest_dra.kubelet.settings import KubeletSettings

FAILED_PREPARE = "FailedPrepareDynamicResources"
FAILED_PREPARE_TEXT = "Failed to prepare dynamic resources: "

PENDING = "Pending"
RUNNING = "Running"
FAILED = "Failed"

IDLE_S = 3600.0
"""Longest sleep of a worker: every change wakes it, so this is only a bound."""


class Ticks(Protocol):
    """When the kubelet looks at everything, by its clock."""

    def relisted(self, since: float | None) -> float:
        """When the containers have been listed after ``since``; None: at all."""

    def listed(self) -> float:
        """When they are listed for the next time."""

    def queued(self) -> float:
        """When the queue of pods that are due is looked at for the next time."""

    def cleaned(self) -> float:
        """When pods that nobody wants are looked for, for the next time."""


class _Stage(enum.Enum):
    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    FINISHED = "finished"


class PodWorker:
    """One pod, in a thread of its own, until :meth:`stop` or its end.

    Args:
        pod: as it is now.
        resources: the health of what its containers use.
        finished: told once nothing is left to be done.
    """

    def __init__(
        self,
        pod: Pod,
        *,
        host: PodHost,
        claims: PodClaims,
        ticks: Ticks,
        settings: KubeletSettings,
        chance: Chance,
        clock: Clock,
        resources: Callable[[Pod], tuple[ResourceStatus, ...]],
        finished: Callable[[Pod], None],
    ) -> None:
        self.pod = pod
        self._host = host
        self._claims = claims
        self._ticks = ticks
        self._settings = settings
        self._chance = chance
        self._clock = clock
        self._resources = resources
        self._finished = finished
        self._changed = threading.Condition()
        self._stage = _Stage.TERMINATED if pod.ended else _Stage.SYNC
        self._wanted = True
        self._stopped = False
        self._due = float("inf")
        self._event_at = float("inf")
        self._last_sync: float | None = None
        self._shown: PodStatus | None = None
        self._thread = threading.Thread(target=self._run, name="kubelet-pod", daemon=True)

    def start(self) -> None:
        """Begin; called once."""
        self._thread.start()

    def update(self, pod: Pod) -> None:
        """The pod has changed, and is looked at as soon as it can be."""
        with self._changed:
            self.pod = pod
            self._wanted = True
            self._changed.notify_all()

    def nudge(self) -> None:
        """Look at it again."""
        with self._changed:
            self._wanted = True
            self._changed.notify_all()

    def noticed(self) -> None:
        """Its containers have changed, which the kubelet sees when it lists them again."""
        with self._changed:
            self._event_at = min(self._event_at, self._ticks.listed())
            self._changed.notify_all()

    @property
    def active(self) -> bool:
        """True while it may use its claims."""
        return self._stage is not _Stage.FINISHED

    def stop(self) -> None:
        """Do nothing more; what runs ends by itself."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def join(self, span_s: float) -> None:
        """Wait for the thread."""
        if self._thread is not threading.current_thread():
            self._thread.join(span_s)

    # ------------------------------------------------------------ when
    def _run(self) -> None:
        while self._wait(self._next_work) and self._wait(self._next_listing):
            pod = self.pod
            if pod.to_end and self._stage is _Stage.SYNC:
                self._stage = _Stage.TERMINATING
            before = self._stage
            failed = not self._act(pod)
            if self._stopped:
                return
            self._last_sync = self._clock.now()
            if self._stage is _Stage.FINISHED:
                self._finished(self.pod)
                return
            self._plan(moved=self._stage is not before, failed=failed)

    def _wait(self, moment: Callable[[], float]) -> bool:
        """Wait until ``moment`` has come, asked for again after each change; False if stopped."""
        with self._changed:
            while not self._stopped:
                left = moment() - self._clock.now()
                if left <= 0:
                    return True
                self._clock.wait(self._changed, min(left, IDLE_S))
        return False

    def _next_work(self) -> float:
        if self._wanted:
            # Taken here: what comes while the next listing is waited for is one more piece of work.
            self._take()
            return self._clock.now()
        moment = min(self._due, self._event_at)
        if moment <= self._clock.now():
            self._take()
        return moment

    def _take(self) -> None:
        now = self._clock.now()
        self._wanted = False
        if self._due <= now:
            self._due = float("inf")
        if self._event_at <= now:
            self._event_at = float("inf")

    def _next_listing(self) -> float:
        return self._ticks.relisted(self._last_sync)

    def _plan(self, *, moved: bool, failed: bool) -> None:
        """When the pod is looked at again if nothing happens."""
        now = self._clock.now()
        with self._changed:
            if min(self._due, self._event_at) <= now:
                self._wanted = True
                self._event_at = float("inf") if self._event_at <= now else self._event_at
            if moved:
                self._wanted = True
                self._due = self._ticks.queued()
            else:
                base = self._settings.pod_retry_s if failed else self._settings.resync_s
                self._due = now + self._chance.pause(self.pod.uid, base)
            if self.pod.removed:
                self._due = min(self._due, self._ticks.cleaned())

    # ------------------------------------------------------------ what
    def _act(self, pod: Pod) -> bool:
        """One step; False if it failed in a way that is tried again soon."""
        if self._stage is _Stage.SYNC:
            return self._sync(pod)
        if self._stage is _Stage.TERMINATING:
            return self._terminate(pod)
        if pod.deleted and not pod.removed:
            self._host.remove(pod)
        self._stage = _Stage.FINISHED
        return True

    def _sync(self, pod: Pod) -> bool:
        containers = self._host.containers(pod)
        if containers is Containers.NONE:
            try:
                self._claims.prepare(pod)
            except ClaimError as error:
                # For the kubelet that is no failure: it looks again when it would have anyway.
                if not self._stopped:
                    self._host.tell(pod, FAILED_PREPARE, FAILED_PREPARE_TEXT + str(error))
                    self._show(pod, PENDING)
                return True
            if self._stopped:
                return True
            self._host.start(pod)
            containers = self._host.containers(pod)
        has_run = containers in (Containers.RUNNING, Containers.ENDED)
        self._show(pod, RUNNING if has_run else PENDING)
        if containers is Containers.ENDED:
            self._stage = _Stage.TERMINATING
        return True

    def _terminate(self, pod: Pod) -> bool:
        """Stop, give back, and only then tell anybody that the pod has ended."""
        containers = self._host.containers(pod)
        has_run = containers in (Containers.RUNNING, Containers.ENDED)
        self._show(pod, RUNNING if has_run else PENDING)
        self._host.kill(pod)
        if self._stopped:
            return True
        try:
            self._claims.unprepare(pod)
        except ClaimError:
            return False
        self._show(pod, self._host.last_phase(pod) if has_run else FAILED)
        self._stage = _Stage.TERMINATED
        return True

    def _show(self, pod: Pod, phase: str) -> None:
        status = PodStatus(phase, self._resources(pod))
        if pod.removed or status == self._shown or self._stopped:
            return
        try:
            self._host.show(pod, status)
        except StatusRefused:
            return
        self._shown = status

"""The pods of one run of a kubelet."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from collections.abc import Iterable

from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.chance import Chance
from pytest_dra.kubelet.checkpoint import Checkpoint
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.devicehealth import DeviceHealth
from pytest_dra.kubelet.devicehealth import statuses
from pytest_dra.kubelet.devicehealth import users_of
from pytest_dra.kubelet.health import HEALTH_SINCE
from pytest_dra.kubelet.podclaims import Call
from pytest_dra.kubelet.podclaims import PodClaims
from pytest_dra.kubelet.podhost import Pod
from pytest_dra.kubelet.podhost import PodHost
from pytest_dra.kubelet.podhost import ResourceStatus
from pytest_dra.kubelet.podworker import PodWorker
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.kubelet.settings import release
from pytest_dra.spec import Json
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline


class Pulse:
    """The loops of a kubelet, each with its own period since the kubelet's start."""

    def __init__(self, clock: Clock, settings: KubeletSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._start = clock.now()

    def relisted(self, since: float | None) -> float:
        """See :class:`pytest_dra.kubelet.podworker.Ticks`, also for the others."""
        return self._after(self._start if since is None else since, self._settings.relist_s)

    def listed(self) -> float:
        return self._after(self._clock.now(), self._settings.relist_s)

    def queued(self) -> float:
        # Between two listings, since the kubelet's two loops do not run in step.
        period = self._settings.relist_s
        return self._after(self._clock.now() - period / 2, period) + period / 2

    def cleaned(self) -> float:
        return self._after(self._clock.now(), self._settings.housekeeping_s)

    def _after(self, moment: float, period: float) -> float:
        return self._start + period * (math.floor((moment - self._start) / period) + 1)


class PodManager:
    """Has a worker for each pod, and gives back what pods hold that are gone.

    Args:
        kept: the claims, loaded.
        host: what lies outside.
        has: whether a driver is registered; ``prepare`` and ``unprepare`` call it.
    """

    def __init__(
        self,
        *,
        kept: Checkpoint,
        host: PodHost,
        kubernetes: str,
        timeline: Timeline,
        instance: str,
        settings: KubeletSettings,
        chance: Chance,
        clock: Clock,
        health: DeviceHealth,
        has: Callable[[str], bool],
        prepare: Call,
        unprepare: Call,
    ) -> None:
        self._kept = kept
        self._host = host
        self._timeline = timeline
        self._instance = instance
        self._settings = settings
        self._chance = chance
        self._clock = clock
        self._health = health
        self._shows_health = release(kubernetes) >= HEALTH_SINCE
        self._claims = PodClaims(
            kept,
            host,
            kubernetes=kubernetes,
            chance=chance,
            has=has,
            prepare=prepare,
            unprepare=unprepare,
        )
        self._changed = threading.Condition()
        self._stopped = False
        self._workers: dict[str, PodWorker] = {}
        self._pulse = Pulse(clock, settings)
        self._reconciler = threading.Thread(
            target=self._reconcile, name="kubelet-reconciler", daemon=True
        )

    def start(self) -> None:
        """Take up all pods of the node; called once."""
        for pod in self._host.pods():
            self.update(pod)
        self._reconciler.start()

    def stop(self) -> None:
        """Begin nothing more; what runs ends when the connections do."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            workers = list(self._workers.values())
        for worker in workers:
            worker.stop()

    def join(self, deadline: Deadline) -> None:
        """Wait for all threads."""
        for worker in list(self._workers.values()):
            worker.join(deadline.left_s())
        self._reconciler.join(deadline.left_s())

    def update(self, pod: Pod) -> None:
        """A pod is there, or has changed."""
        with self._changed:
            if self._stopped:
                return
            worker = self._workers.get(pod.uid)
            if worker is not None and worker.active:
                worker.update(pod)
                return
            if pod.removed or (worker is not None and not pod.deleted):
                return
            worker = self._workers[pod.uid] = self._worker(pod)
        worker.start()

    def noticed(self, uid: str) -> None:
        """The containers of a pod have changed."""
        worker = self._workers.get(uid)
        if worker is not None:
            worker.noticed()

    def reported(self, driver: str, devices: Iterable[Json]) -> None:
        """A driver has reported the health of devices: pods that use them are looked at again."""
        changed = self._health.report(driver, devices)
        for uid in users_of(self._kept, driver, changed):
            worker = self._workers.get(uid)
            if worker is not None and worker.active:
                worker.nudge()

    def _worker(self, pod: Pod) -> PodWorker:
        return PodWorker(
            pod,
            host=self._host,
            claims=self._claims,
            ticks=self._pulse,
            settings=self._settings,
            chance=self._chance,
            clock=self._clock,
            resources=self._resources,
            finished=self._forget,
        )

    def _resources(self, pod: Pod) -> tuple[ResourceStatus, ...]:
        return statuses(pod, self._kept, self._health) if self._shows_health else ()

    def _forget(self, pod: Pod) -> None:
        """Forget a pod that is gone; of one that is still there it is known that it has ended."""
        if pod.to_end:
            with self._changed:
                self._workers.pop(pod.uid, None)

    def _reconcile(self) -> None:
        due = self._clock.now() + self._settings.reconcile_s
        while True:
            with self._changed:
                while not self._stopped and (left := due - self._clock.now()) > 0:
                    self._clock.wait(self._changed, left)
                if self._stopped:
                    return
                active = frozenset(uid for uid, worker in self._workers.items() if worker.active)
            for error in self._claims.release_all_but(active):
                text = bounded_text(f"claims of a pod that is gone: {error}")
                self._timeline.add(Mark(text=text, instance=self._instance))
            due += self._settings.reconcile_s

"""One run of a kubelet, from start to stop."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.kubelet.answers import ClaimRef
from pytest_dra.kubelet.answers import NodeReply
from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.chance import Chance
from pytest_dra.kubelet.checkpoint import Checkpoint
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.devicehealth import DeviceHealth
from pytest_dra.kubelet.plugins import Plugin
from pytest_dra.kubelet.plugins import PluginStore
from pytest_dra.kubelet.podclaims import Call
from pytest_dra.kubelet.podclaims import driver_missing
from pytest_dra.kubelet.podhost import PodHost
from pytest_dra.kubelet.podmanager import PodManager
from pytest_dra.kubelet.registration import Attempt
from pytest_dra.kubelet.registration import Next
from pytest_dra.kubelet.registration import Registrar
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.kubelet.watcher import Identity
from pytest_dra.kubelet.watcher import Schedule
from pytest_dra.kubelet.watcher import dot_directories
from pytest_dra.kubelet.watcher import identity_of
from pytest_dra.kubelet.watcher import scan
from pytest_dra.kubelet.wiping import SliceWiper
from pytest_dra.spec import Json
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline

MAX_PARALLEL = 32
"""Attempts that run at the same time. The kubelet has no limit; one thread each is ours."""


class Life:
    """Watcher, registrar, registered plugins, pods and wiper; what they know ends with it."""

    def __init__(
        self,
        *,
        registry_dir: Path,
        timeline: Timeline,
        instance: str,
        kubernetes: str,
        wipe: Callable[[str | None], None],
        settings: KubeletSettings,
        attempts: collections.deque[Attempt],
        clock: Clock,
        locate: Callable[[Path], Path],
    ) -> None:
        self._registry_dir = registry_dir
        self._settings = settings
        self._attempts = attempts
        self._clock = clock
        self._timeline = timeline
        self._instance = instance
        self._kubernetes = kubernetes
        self._health = DeviceHealth(clock)
        self.pods: PodManager | None = None
        self._wiper = SliceWiper(
            wipe=wipe, timeline=timeline, instance=instance, settings=settings, clock=clock
        )
        self.store = PluginStore(
            timeline=timeline,
            instance=instance,
            settings=settings,
            wiper=self._wiper,
            kubernetes=kubernetes,
            clock=clock,
            sink=self,
        )
        self._registrar = Registrar(
            store=self.store,
            timeline=timeline,
            instance=instance,
            kubernetes=kubernetes,
            settings=settings,
            clock=clock,
            locate=locate,
        )
        self._locate = locate
        self._dot_directories = dot_directories(registry_dir)
        self._schedule = Schedule(settings)
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self.ended = False
        self._running: set[threading.Thread] = set()
        self._watcher = threading.Thread(target=self._watch, name="kubelet-watcher", daemon=True)

    def start(self) -> None:
        """Begin to watch; called once."""
        self._wiper.start()
        self._watcher.start()

    def stop(self) -> None:
        """Close everything; waits at most ``settings.stop_s`` for the threads."""
        deadline = Deadline.after(self._settings.stop_s)
        with self._changed:
            self.ended = True
            self._changed.notify_all()
        if self.pods is not None:
            self.pods.stop()
        self._wiper.stop()
        self._registrar.close()
        self.store.close()
        self._watcher.join(deadline.left_s())
        if self.pods is not None:
            self.pods.join(deadline)
        with self._lock:
            running = list(self._running)
        for thread in running:
            if thread.is_alive():
                thread.join(deadline.left_s())

    def serve(
        self, host: PodHost, kept: Checkpoint, chance: Chance, calls: tuple[Call, Call]
    ) -> None:
        """Have pods, those of ``host``; ``kept`` has their claims, ``calls`` prepare and
        unprepare."""
        self.pods = PodManager(
            kept=kept,
            host=host,
            kubernetes=self._kubernetes,
            timeline=self._timeline,
            instance=self._instance,
            settings=self._settings,
            chance=chance,
            clock=self._clock,
            health=self._health,
            has=lambda driver: self.store.pick(driver) is not None,
            prepare=calls[0],
            unprepare=calls[1],
        )
        self.pods.start()

    def leave(self) -> None:
        """Have no pods any more."""
        pods, self.pods = self.pods, None
        if pods is not None:
            pods.stop()
            pods.join(Deadline.after(self._settings.stop_s))

    def prepare(
        self, driver: str, claims: Sequence[ClaimRef], timeout_s: float | None = None
    ) -> NodeReply:
        """Call the newest connected plugin of a driver, see :meth:`Kubelet.prepare`."""
        plugin = self.store.pick(driver)
        if plugin is None:
            return unregistered(self._timeline, self._instance, driver)
        limit = self._settings.call_s if timeout_s is None else timeout_s
        return plugin.client.prepare(claims, service=plugin.service, timeout_s=limit)

    def unprepare(
        self, driver: str, claims: Sequence[ClaimRef], timeout_s: float | None = None
    ) -> NodeReply:
        """The same for NodeUnprepareResources."""
        plugin = self.store.pick(driver)
        if plugin is None:
            return unregistered(self._timeline, self._instance, driver)
        limit = self._settings.call_s if timeout_s is None else timeout_s
        return plugin.client.unprepare(claims, service=plugin.service, timeout_s=limit)

    def reported(self, driver: str, devices: Sequence[Json]) -> None:
        """See :class:`pytest_dra.kubelet.health.HealthSink`."""
        pods = self.pods
        if pods is not None:
            pods.reported(driver, devices)
        else:
            self._health.report(driver, devices)

    def unwatched(self, driver: str) -> None:
        """See :class:`pytest_dra.kubelet.health.HealthSink`."""
        self._health.clear(driver)

    def keeps(self, plugin: Plugin) -> bool:
        """False if the next look deregisters the plugin: another socket is at its path, or none."""
        identity = identity_of(plugin.socket, self._locate)
        with self._lock:
            return self._schedule.is_of(plugin.socket, identity)

    def pause(self, span_s: float) -> bool:
        """Let ``span_s`` pass; False as soon as this life has ended."""
        end = self._clock.now() + span_s
        with self._changed:
            while not self.ended:
                left = end - self._clock.now()
                if left <= 0:
                    return True
                self._clock.wait(self._changed, left)
        return False

    def _watch(self) -> None:
        going_on = not self.ended
        while going_on:
            self._look()
            going_on = self.pause(self._settings.poll_s)

    def _look(self) -> None:
        found = scan(self._registry_dir, dot_directories=self._dot_directories, locate=self._locate)
        with self._lock:
            departed = self._schedule.departed(found)
            gone = {plugin.socket for plugin in departed}
            free = MAX_PARALLEL - len(self._running)
            candidates = {path: of for path, of in found.items() if path not in gone}
            due = self._schedule.due(candidates, now=self._clock.now(), limit=free)
            started = [self._begin(path, found[path]) for path in due]
            self._schedule.forget_old(found)
        for plugin in departed:
            self.store.remove(plugin)
        for thread in started:
            thread.start()

    def _begin(self, path: Path, identity: Identity) -> threading.Thread:
        number = self._schedule.begin(path, identity)
        thread = threading.Thread(
            target=self._attempt, args=(path, number), name="kubelet-attempt", daemon=True
        )
        self._running.add(thread)
        return thread

    def _attempt(self, path: Path, number: int) -> None:
        outcome = Next.RETRY
        plugin: Plugin | None = None
        # A look may be old when its attempt begins, and the socket another one by now.
        identity = identity_of(path, self._locate)
        with self._lock:
            self._schedule.identify(path, identity)
        try:
            attempt = self._registrar.attempt(path, number=number)
            outcome = attempt.next
            plugin = attempt.plugin if attempt.registered else None
            if not self.ended:
                self._attempts.append(attempt)
        finally:
            with self._lock:
                self._schedule.end(path, outcome, plugin=plugin, now=self._clock.now())
                self._running.discard(threading.current_thread())


def unregistered(timeline: Timeline, instance: str, driver: str) -> NodeReply:
    """The reply of a call that nobody gets; it stands on the timeline as a mark."""
    text = bounded_text(driver_missing(driver))
    serial = timeline.add(Mark(text=text, instance=instance)).serial
    return NodeReply(code="UNAVAILABLE", details=text, duration_s=0.0, serial=serial, claims={})

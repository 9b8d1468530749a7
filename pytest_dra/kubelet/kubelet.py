"""The kubelet stand-in: plugin watcher, registration, calls, wiping."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.kubelet.answers import ClaimRef
from pytest_dra.kubelet.answers import NodeReply
from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.plugins import Plugin
from pytest_dra.kubelet.plugins import PluginStore
from pytest_dra.kubelet.registration import Attempt
from pytest_dra.kubelet.registration import Next
from pytest_dra.kubelet.registration import Registrar
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.kubelet.watcher import Identity
from pytest_dra.kubelet.watcher import Schedule
from pytest_dra.kubelet.watcher import scan
from pytest_dra.kubelet.wiping import SliceWiper
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

MAX_PARALLEL = 32
"""Attempts that run at the same time. The kubelet has no limit; one thread each is ours."""

MAX_ATTEMPTS = 10_000
"""Attempts that are kept; a driver that flaps for hours must not fill the memory."""


class Kubelet:
    """Registers what appears in ``registry_dir`` and calls it, like one kubelet of one node.

    Args:
        registry_dir: watched for registration sockets; made if missing.
        instance: named on the timeline in everything that this kubelet does.
        kubernetes: minor version of the kubelet that is played, such as ``1.37``.
        wipe: deletes the node's slices of one driver, or of all drivers for None. Called by
            :meth:`start`, where an error goes to the caller, and from a thread when a driver's
            last connection has been lost for ``settings.wipe_delay_s``.
        settings: all time constants.
    """

    def __init__(
        self,
        *,
        registry_dir: Path,
        timeline: Timeline,
        instance: str,
        kubernetes: str = "1.37",
        wipe: Callable[[str | None], None],
        settings: KubeletSettings | None = None,
    ) -> None:
        self.registry_dir = registry_dir
        self.settings = settings or KubeletSettings()
        self._timeline = timeline
        self._instance = instance
        self._kubernetes = kubernetes
        self._wipe = wipe
        self._attempts: collections.deque[Attempt] = collections.deque(maxlen=MAX_ATTEMPTS)
        self._life: _Life | None = None

    def start(self) -> None:
        """Wipe the slices of all drivers and begin to watch. Nothing if it runs already."""
        if self._life is not None:
            return
        self.registry_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        life = _Life(
            registry_dir=self.registry_dir,
            timeline=self._timeline,
            instance=self._instance,
            kubernetes=self._kubernetes,
            wipe=self._wipe,
            settings=self.settings,
            attempts=self._attempts,
        )
        self._wipe(None)
        self._mark("kubelet started, slices of all drivers wiped")
        self._life = life
        life.start()

    def stop(self) -> None:
        """Close all connections and end all threads. Nothing is told to the plugins."""
        life, self._life = self._life, None
        if life is not None:
            life.stop()
            self._mark("kubelet stopped")

    def restart(self) -> None:
        """Stop and start: registrations and pauses are forgotten, slices are wiped."""
        self.stop()
        self.start()

    def plugins(self) -> tuple[Plugin, ...]:
        """The registered plugins, newest first."""
        return self._life.store.newest_first() if self._life else ()

    def plugin(self, driver: str | None, deadline: Deadline) -> Plugin | None:
        """Wait for a registered plugin of ``driver`` (None: of any) that is connected.

        At the deadline a registered plugin without connection is returned as well; None if there
        is none at all.
        """

        def connected() -> Plugin | None:
            plugin = self._pick(driver)
            return plugin if plugin is not None and plugin.client.is_connected else None

        return until(self._timeline, connected, deadline) or self._pick(driver)

    def prepare(
        self, driver: str, claims: Sequence[ClaimRef], *, timeout_s: float | None = None
    ) -> NodeReply:
        """NodePrepareResources on the newest connected plugin of ``driver``.

        With none connected the newest one is called all the same, like the kubelet does; with none
        registered the reply is UNAVAILABLE and no call is made. ``timeout_s`` defaults to
        ``settings.call_s``.
        """
        plugin = self._pick(driver)
        if plugin is None:
            return self._not_registered(driver)
        return plugin.client.prepare(
            claims, service=plugin.service, timeout_s=self._timeout(timeout_s)
        )

    def unprepare(
        self, driver: str, claims: Sequence[ClaimRef], *, timeout_s: float | None = None
    ) -> NodeReply:
        """NodeUnprepareResources; see :meth:`prepare`."""
        plugin = self._pick(driver)
        if plugin is None:
            return self._not_registered(driver)
        return plugin.client.unprepare(
            claims, service=plugin.service, timeout_s=self._timeout(timeout_s)
        )

    def attempts(self) -> tuple[Attempt, ...]:
        """Every registration attempt that has ended, oldest first, also before a restart."""
        return tuple(self._attempts)

    def _pick(self, driver: str | None) -> Plugin | None:
        return self._life.store.pick(driver) if self._life else None

    def _timeout(self, timeout_s: float | None) -> float:
        return self.settings.call_s if timeout_s is None else timeout_s

    def _not_registered(self, driver: str) -> NodeReply:
        text = bounded_text(f"DRA driver {driver} is not registered")
        return NodeReply(
            code="UNAVAILABLE", details=text, duration_s=0.0, serial=self._mark(text), claims={}
        )

    def _mark(self, text: str) -> int:
        return self._timeline.add(Mark(text=text, instance=self._instance)).serial


class _Life:
    """One run of a kubelet, from start to stop."""

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
    ) -> None:
        self._registry_dir = registry_dir
        self._settings = settings
        self._attempts = attempts
        self._wiper = SliceWiper(wipe=wipe, timeline=timeline, instance=instance, settings=settings)
        self.store = PluginStore(
            timeline=timeline, instance=instance, settings=settings, wiper=self._wiper
        )
        self._registrar = Registrar(
            store=self.store,
            timeline=timeline,
            instance=instance,
            kubernetes=kubernetes,
            settings=settings,
        )
        self._schedule = Schedule(settings)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._running: set[threading.Thread] = set()
        self._watcher = threading.Thread(target=self._watch, name="kubelet-watcher", daemon=True)

    def start(self) -> None:
        self._wiper.start()
        self._watcher.start()

    def stop(self) -> None:
        deadline = Deadline.after(self._settings.stop_s)
        self._ended.set()
        self._wiper.stop()
        self._registrar.close()
        self.store.close()
        self._watcher.join(deadline.left_s())
        with self._lock:
            running = list(self._running)
        for thread in running:
            if thread.is_alive():
                thread.join(deadline.left_s())

    def _watch(self) -> None:
        while not self._ended.is_set():
            self._look()
            self._ended.wait(self._settings.poll_s)

    def _look(self) -> None:
        found = scan(self._registry_dir)
        with self._lock:
            departed = self._schedule.departed(found)
            gone = {plugin.socket for plugin in departed}
            free = MAX_PARALLEL - len(self._running)
            candidates = {path: of for path, of in found.items() if path not in gone}
            due = self._schedule.due(candidates, now=time.monotonic(), limit=free)
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
        try:
            attempt = self._registrar.attempt(path, number=number)
            outcome = attempt.next
            plugin = attempt.plugin if attempt.registered else None
            if not self._ended.is_set():
                self._attempts.append(attempt)
        finally:
            with self._lock:
                self._schedule.end(path, outcome, plugin=plugin, now=time.monotonic())
                self._running.discard(threading.current_thread())

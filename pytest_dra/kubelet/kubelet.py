"""The kubelet stand-in: plugin watcher, registration, calls, wiping."""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

from pytest_dra.kubelet.answers import ClaimRef
from pytest_dra.kubelet.answers import NodeReply
from pytest_dra.kubelet.chance import Chance
from pytest_dra.kubelet.checkpoint import Checkpoint
from pytest_dra.kubelet.checkpoint import KeptClaim
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.life import Life
from pytest_dra.kubelet.life import unregistered
from pytest_dra.kubelet.plugins import Plugin
from pytest_dra.kubelet.podclaims import Call
from pytest_dra.kubelet.podhost import PodHost
from pytest_dra.kubelet.podmanager import PodManager
from pytest_dra.kubelet.registration import Attempt
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.kubelet.watcher import there
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

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
        checkpoint: file for the claims of pods; None keeps them in memory.
        chance: draws what is chance in a kubelet.
        clock: what pauses, deadlines and timers go by.
        locate: where a socket lies for us, by the path that a plugin announces or that it is found
            at in the registry: another place for a plugin in file systems of its own. None: there.
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
        checkpoint: Path | None = None,
        chance: Chance | None = None,
        clock: Clock | None = None,
        locate: Callable[[Path], Path] | None = None,
    ) -> None:
        self._locate = locate or there
        self._checkpoint = Checkpoint(checkpoint)
        self._chance = chance or Chance()
        self._serve: Callable[[Life], None] = _no_pods
        self._clock = clock or Clock()
        self.registry_dir = registry_dir
        self.settings = settings or KubeletSettings()
        self._timeline = timeline
        self._instance = instance
        self._kubernetes = kubernetes
        self._wipe = wipe
        self._attempts: collections.deque[Attempt] = collections.deque(maxlen=MAX_ATTEMPTS)
        self._life: Life | None = None

    def start(self) -> None:
        """Wipe the slices of all drivers and begin to watch. Nothing if it runs already.

        Raises:
            CheckpointError: the checkpoint is corrupt; nothing was wiped.
        """
        if self._life is not None:
            return
        self._checkpoint.load()
        self.registry_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        life = Life(
            registry_dir=self.registry_dir,
            timeline=self._timeline,
            instance=self._instance,
            kubernetes=self._kubernetes,
            wipe=self._wipe,
            settings=self.settings,
            attempts=self._attempts,
            clock=self._clock,
            locate=self._locate,
        )
        self._wipe(None)
        self._mark("kubelet started, slices of all drivers wiped")
        self._life = life
        life.start()
        self._serve(life)

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

    def reboot(self) -> None:
        """Stop as the node goes down.

        The checkpoint and socket files of the registry directory lie on the disk and stay. The
        caller empties what lies in memory (the CDI directory, for one) and calls :meth:`start`.
        """
        self.stop()
        self._mark("node rebooted")

    def serve(
        self, host: PodHost, *, prepare: Call | None = None, unprepare: Call | None = None
    ) -> None:
        """Have pods from now on, also after restarts, until :meth:`leave`.

        Args:
            host: what lies outside.
            prepare: makes the calls for pods instead of :meth:`prepare`, as ``unprepare`` does.
        """
        calls = (prepare or self.prepare, unprepare or self.unprepare)
        self._serve = lambda life: life.serve(host, self._checkpoint, self._chance, calls)
        if self._life is not None:
            self._serve(self._life)

    def leave(self) -> None:
        """Have no pods any more; their claims stay as they are."""
        self._serve = _no_pods
        if self._life is not None:
            self._life.leave()

    @property
    def pods(self) -> PodManager | None:
        """To be told what happens to pods; None while it does not run, or has none."""
        return self._life.pods if self._life is not None else None

    def claims(self) -> tuple[KeptClaim, ...]:
        """The claims of pods, none prepared after a start."""
        return self._checkpoint.claims()

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

    def keeps(self, plugin: Plugin) -> bool:
        """False for a registered plugin that will be deregistered at once: its socket has gone.

        An attempt that waits on a dead socket registers what comes in its place, and the kubelet
        registers that once more since it is another socket.
        """
        return self._life is not None and self._life.keeps(plugin)

    def prepare(
        self, driver: str, claims: Sequence[ClaimRef], *, timeout_s: float | None = None
    ) -> NodeReply:
        """NodePrepareResources on the newest connected plugin of ``driver``.

        With none connected the newest one is called all the same, like the kubelet does; with none
        registered the reply is UNAVAILABLE and no call is made. ``timeout_s`` defaults to
        ``settings.call_s``.
        """
        life = self._life
        return life.prepare(driver, claims, timeout_s) if life else self._nobody(driver)

    def unprepare(
        self, driver: str, claims: Sequence[ClaimRef], *, timeout_s: float | None = None
    ) -> NodeReply:
        """NodeUnprepareResources; see :meth:`prepare`."""
        life = self._life
        return life.unprepare(driver, claims, timeout_s) if life else self._nobody(driver)

    def attempts(self) -> tuple[Attempt, ...]:
        """Every registration attempt that has ended, oldest first, also before a restart."""
        return tuple(self._attempts)

    def _pick(self, driver: str | None) -> Plugin | None:
        return self._life.store.pick(driver) if self._life else None

    def _nobody(self, driver: str) -> NodeReply:
        return unregistered(self._timeline, self._instance, driver)

    def _mark(self, text: str) -> int:
        return self._timeline.add(Mark(text=text, instance=self._instance)).serial


def _no_pods(life: Life) -> None:
    """A kubelet without pods."""
    del life

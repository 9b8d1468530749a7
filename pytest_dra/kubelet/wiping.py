"""Deletes the slices of drivers that have been away for too long."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline

IDLE_S = 60.0
"""Longest sleep while nothing is due: every change wakes the thread, so this is only a bound."""


class SliceWiper:
    """One timer per driver: started when its last connection is lost, cancelled when one is back.

    Args:
        wipe: deletes the node's slices of one driver, or of all for None. When it raises, it is
            called again later, like the kubelet does.
    """

    def __init__(
        self,
        *,
        wipe: Callable[[str | None], None],
        timeline: Timeline,
        instance: str,
        settings: KubeletSettings,
        clock: Clock | None = None,
    ) -> None:
        self._wipe = wipe
        self._timeline = timeline
        self._instance = instance
        self._settings = settings
        self._clock = clock or Clock()
        self._changed = threading.Condition()
        self._due: dict[str, float] = {}
        self._pause: dict[str, float] = {}
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="kubelet-wiper", daemon=True)

    def start(self) -> None:
        """Start the thread; called once."""
        self._thread.start()

    def note(self, driver: str, *, connected: bool) -> None:
        """Some connection of ``driver`` came or went; ``connected``: one of them stands now."""
        with self._changed:
            if connected:
                self._due.pop(driver, None)
                self._pause.pop(driver, None)
            else:
                # A further loss does not move a timer that runs.
                self._due.setdefault(driver, self._clock.now() + self._settings.wipe_delay_s)
            self._changed.notify_all()

    def stop(self) -> None:
        """Forget all timers and end the thread, waiting for it at most ``settings.stop_s``."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(self._settings.stop_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._ended:
                    return
                now = self._clock.now()
                due = [driver for driver, at in self._due.items() if at <= now]
                for driver in due:
                    del self._due[driver]
                if not due:
                    left = min((at - now for at in self._due.values()), default=IDLE_S)
                    self._clock.wait(self._changed, min(left, IDLE_S))
            for driver in due:
                self._fire(driver)

    def _fire(self, driver: str) -> None:
        # The kubelet leaves an empty driver name out of the selector: all drivers lose theirs.
        of = driver or None
        try:
            self._wipe(of)
        except Exception as error:  # whatever the API client raises: tried again, and written down
            self._mark(f"wiping the slices of {of or 'all drivers'} failed: {error}")
            with self._changed:
                pause = self._pause.get(driver, self._settings.wipe_retry_s)
                self._pause[driver] = min(2 * pause, self._settings.wipe_retry_limit_s)
                self._due.setdefault(driver, self._clock.now() + pause)
            return
        with self._changed:
            self._pause.pop(driver, None)
        self._mark(f"slices of {of or 'all drivers'} wiped")

    def _mark(self, text: str) -> None:
        self._timeline.add(Mark(text=bounded_text(text), instance=self._instance))

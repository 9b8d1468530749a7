"""The process of a container, behind the engine's command that waits for its end."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_dra.clusters.engine import Engine
from pytest_dra.clusters.remedies import remedy_for
from pytest_dra.clusters.remedies import told
from pytest_dra.launch import LaunchError
from pytest_dra.launch.process import Process
from pytest_dra.launch.tool import ToolError
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

BEGIN_S: Final = 60.0
"""Longest way to a running container: a loaded machine, and a large image on a slow disk."""

EVERY_S: Final = 0.05
"""Between two questions whether it runs: each costs the engine some milliseconds."""

REMOVED_S: Final = 20.0
"""Longest wait for the engine to take a dead container away."""

SIGNALLED: Final = 128
"""An exit status above it is that of a process which a signal has ended."""

REFUSALS: Final = (125, 126, 127)
"""Statuses of the engine's command for a container that has never run."""

SAID: Final = 2000
"""Characters of its complaint in a message."""


_PARENT: Final = re.compile(rb"^PPid:\s*(\d+)$", re.MULTILINE)


class Contained(Process):
    """See the module.

    Args:
        command: ``docker run`` in the foreground, just started.
        engine: whose command it is.
        name: of the container.
    """

    def __init__(self, command: Process, *, engine: Engine, name: str) -> None:
        super().__init__(command._keeper, command._number, command.pid, command.log)
        self.name = name
        self._engine = engine
        self._inner = 0
        self._handle: int | None = None

    @property
    def pid(self) -> int:
        """The process id of the container's first process; the command's where it is not seen."""
        return self._inner or self._pid

    @property
    def in_hand(self) -> bool:
        """True if that process is seen from here, and is ours or anybody's (root)."""
        return self._handle is not None and self._send(0)

    @property
    def exit_code(self) -> int | None:
        """As of a process: the negative signal where one has ended it."""
        return _unshifted(super().exit_code)

    def wait(self, deadline: Deadline) -> int | None:
        """Wait for its end, and for the engine's removal of what is left of it."""
        return _unshifted(super().wait(deadline))

    def when_ended(self, told: Callable[[int | None], None]) -> None:
        """As for a process."""
        super().when_ended(lambda code: told(_unshifted(code)))

    def begin(self) -> None:
        """Wait until it runs, or has run.

        Raises:
            LaunchError: the engine cannot run it; with its words.
        """
        if not poll(self._has_begun, Deadline.after(BEGIN_S), every_s=EVERY_S):
            raise LaunchError(f"{self._engine.name} has not run the image within {BEGIN_S:g} s")
        code = super().exit_code
        if not self._inner and not self.alive and code in REFUSALS:
            said = self.log_tail(SAID).strip()
            problem = f"{self._engine.name} cannot run the image: {said}"
            raise LaunchError(told(problem, remedy_for(said)))

    def _has_begun(self) -> bool:
        if not self.alive:
            return True
        try:
            id, pid = self._engine.running(self.name)
        except ToolError:
            return False
        if pid:
            self._inner = pid if _is_of(id, pid) else 0
            if self._inner:
                with suppress(OSError):
                    self._handle = os.pidfd_open(pid)
        return bool(pid)

    def signal(self, number: int) -> None:
        """Send a signal to the container's first process, as a kubelet does."""
        if self.alive and not self._send(number):
            with suppress(ToolError):
                self._engine.signal(self.name, number)

    def kill(self) -> None:
        """SIGKILL it; returns when the engine has removed the container."""
        if self.alive:
            self.signal(signal.SIGKILL)
            super().wait(Deadline.after(REMOVED_S))
        if self.alive:
            with suppress(ToolError):
                self._engine.remove_container(self.name)
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)
        super().kill()

    def catch_up(self) -> None:
        """Have its output so far in the log."""
        for _ in range(2):
            super().signal(0)

    def _send(self, number: int) -> bool:
        """Send a signal past the engine, which takes longer; False if that is not ours to do."""
        if self._handle is None:
            return False
        try:
            signal.pidfd_send_signal(self._handle, number)
        except PermissionError:
            return False
        except ProcessLookupError:
            return True
        return True


def _is_of(container: str, pid: int) -> bool:
    """True if a process that we see is that of a container: an engine elsewhere has other ids.

    Its cgroup is named after the container, or its parent, which the engine has started for it, has
    the container among its arguments: a rootless Podman may have no cgroups.
    """
    known = container.encode()
    try:
        process = Path(f"/proc/{pid}")
        if known in (process / "cgroup").read_bytes():
            return True
        parent = _PARENT.search((process / "status").read_bytes())
        return parent is not None and known in Path(f"/proc/{int(parent[1])}/cmdline").read_bytes()
    except OSError:
        return False


def _unshifted(code: int | None) -> int | None:
    return code if code is None or code <= SIGNALLED else SIGNALLED - code

"""A driver that its author has started by hand: it is waited for, judged, and left alone."""

from __future__ import annotations

import dataclasses
import functools
import os
import select
import socket
import struct
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path
from typing import Any
from typing import Final
from typing import cast

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.invitation import Invitation
from pytest_dra.bench.registration import CONNECT_S
from pytest_dra.bench.setup import Setup
from pytest_dra.kubelet.watcher import scan
from pytest_dra.launch import Driver
from pytest_dra.launch import EarlyExit
from pytest_dra.launch import LaunchError
from pytest_dra.launch import Process
from pytest_dra.spec import Case
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Mark
from pytest_dra.timeline import ProcessEvent
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

COMPONENT: Final = "attached driver"
"""Names the process on the timeline and in messages."""

UCRED: Final = struct.Struct("3i")
"""The kernel's answer to SO_PEERCRED: pid, uid and gid (unix(7))."""

KNOWN_S: Final = 15.0
"""From the first socket that accepts to an attempt of the kubelet that has ended: the kubelet
itself gives up connecting after 10 s and GetInfo after 1 s. Later the cases find out."""

LOOK_S: Final = 1.0
"""Pause between two looks at a socket whose process cannot be seen: each is a connection."""

PRIMARY: Final = "a"
"""Letter of the one instance that can be attached."""

Tell = Callable[[Invitation], None]
"""Shows the author of a driver what it needs."""

OTHER_WAY: Final = "--dra-driver='exec:COMMAND LINE'"


def not_ours(what: str) -> UnsupportedEnvironment:
    """The driver's process belongs to its author; ``what`` would have had to be done with it."""
    return UnsupportedEnvironment(
        f"the suite does not own the process of an attached driver, so it cannot {what}",
        way_out=OTHER_WAY,
    )


class AttachedDriver(Driver):
    """The process behind the first registration socket that accepts connections.

    It may end and be started again by its author: then :meth:`look` finds the new one.
    """

    _pid = 0
    _handle = -1
    _socket: Path | None = None
    _looked: Deadline | None = None

    def start(self) -> None:
        """Nothing is started: see :func:`await_driver`. Raises UnsupportedEnvironment later on."""
        if self._socket is not None:
            raise not_ours("start it again")

    def look(self) -> bool:
        """Find the process that listens in the registry; False if there is none."""
        for path in scan(self._directories.registry_dir):
            pid = _listener(path)
            if pid is not None:
                self._take(path, pid)
                return True
        return False

    def _take(self, path: Path, pid: int) -> None:
        self.forget()
        self._socket, self._pid = path, pid
        if pid:
            with suppress(OSError):
                self._handle = os.pidfd_open(pid)
        self._timeline.add(self._event("attach", str(path)))

    def forget(self) -> None:
        """Let go of the process."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    @property
    def pid(self) -> int:
        """Its process id; 0 if it cannot be seen from here (a container's)."""
        return self._pid

    @property
    def alive(self) -> bool:
        """True while the process runs, or its socket accepts where the process cannot be seen."""
        if self._socket is None or self._pid < 0:
            return False
        if not self._has_ended():
            return True
        self._timeline.add(self._event("exit"))
        self.forget()
        self._pid = -1
        return False

    def _has_ended(self) -> bool:
        if self._handle >= 0:
            return bool(select.select([self._handle], [], [], 0)[0])
        if self._looked is None or self._looked.passed:
            self._looked = Deadline.after(LOOK_S)
            return self._socket is None or _listener(self._socket) is None
        return False

    @property
    def processes(self) -> dict[str, Process]:
        """None: the suite has started none."""
        return {}

    def early_exits(self, max_bytes: int = 0) -> tuple[EarlyExit, ...]:
        """Its end, if it has ended; its exit code and output are its author's to see."""
        del max_bytes
        if self.alive or self._socket is None:
            return ()
        return (EarlyExit(component=COMPONENT, exit_code=None, log_tail=""),)

    def terminate(self, deadline: Deadline) -> bool:
        """Raises UnsupportedEnvironment."""
        raise not_ours("end it")

    def kill(self) -> None:
        """Raises UnsupportedEnvironment."""
        raise not_ours("kill it")

    def leave(self, deadline: Deadline) -> None:
        """Nothing: it is its author's to end."""
        self.forget()

    def _event(self, action: str, detail: str = "") -> ProcessEvent:
        return ProcessEvent(
            instance=self.instance,
            component=COMPONENT,
            action=action,
            pid=self._pid,
            detail=detail,
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """How a driver is waited for. ``tell`` shows its author what he needs."""

    tell: Tell
    within_s: float


class AttachedInstance(Instance):
    """A node whose driver somebody else starts; other arguments as for any instance."""

    launches = AttachedDriver

    def __init__(self, *, attachment: Attachment, **others: Any) -> None:
        super().__init__(**others)
        self._attachment = attachment
        self._found_at: float | None = None

    @property
    def attached(self) -> AttachedDriver:
        """The driver."""
        return cast(AttachedDriver, self.driver)

    @property
    def began(self) -> float:
        """When the driver was found, on the timeline's clock."""
        return super().began if self._found_at is None else self._found_at

    def start(self) -> None:
        """Start the kubelet, show what a driver needs, and wait until one is registered.

        Raises:
            LaunchError: nothing accepts connections in time, or another driver registers.
        """
        super().start()
        driver, within_s = self.attached, self._attachment.within_s
        name = self._expected_name or ""
        self._attachment.tell(
            Invitation.of(driver.values, driver.components, driver_name=name, within_s=within_s)
        )
        if not self.look_for(Deadline.after(within_s)):
            raise LaunchError(
                f"no driver has attached within {within_s:g} s: no socket in "
                f"{self.directories.registry_dir} accepts connections. Start it with the "
                "environment that was shown, or wait longer: --dra-attach-wait=SECONDS"
            )
        self._must_be_named(name)

    def look_for(self, deadline: Deadline) -> bool:
        """Wait for a driver that listens; what is waited for later on is counted from then."""
        if not poll(self.attached.look, deadline):
            return False
        self._found_at = self.timeline.now()
        return True

    def _must_be_named(self, name: str) -> None:
        poll(lambda: self._names() or self.over, Deadline.after(KNOWN_S))
        others = self._names() - {name} if name else set()
        if others:
            raise LaunchError(
                f"the driver that has attached registers as {', '.join(map(repr, sorted(others)))},"
                f" want {name!r}: start that one, or give the right name with --dra-driver-name"
            )

    def _names(self) -> set[str]:
        """What has told its name to the kubelet so far."""
        found = [each.info.info for each in self.kubelet.attempts() if each.info]
        return {info.name for info in found if info is not None}


class AttachedBench(Bench):
    """A bench round a driver that is never taken down, whatever becomes of a case."""

    def __init__(self, setup: Setup, attachment: Attachment) -> None:
        makes = functools.partial(AttachedInstance, attachment=attachment)
        super().__init__(dataclasses.replace(setup, makes=makes))

    def new_instance(
        self, letter: str, devices: int | None = None, *, setup: Setup | None = None
    ) -> Instance:
        """The one instance that is attached. Raises UnsupportedEnvironment for any other."""
        if letter != PRIMARY:
            raise not_ours("start another one beside it")
        return super().new_instance(letter, devices, setup=setup)

    @contextmanager
    def case(self, case: Case, *, works: bool) -> Iterator[None]:
        """As for any bench, if the driver is still there or there again."""
        self._must_be_there()
        with super().case(case, works=works):
            yield

    def _must_be_there(self) -> None:
        instance = cast(AttachedInstance, self.instance)
        if not instance.over:
            return
        if not instance.look_for(Deadline.after(0)):
            raise UnsupportedEnvironment(
                "the attached driver has ended, and the suite cannot start it again",
                way_out=f"let it run to the end, or {OTHER_WAY}",
            )
        self.forget()

    def _take_back(self, *, unprepare: bool) -> None:
        # No new process comes: claims that were prepared would stay so.
        del unprepare
        super()._take_back(unprepare=self.started and self.instance.driver.alive)

    def _renew(self) -> None:
        text = f"the attached driver goes on although {self._dirty}"
        self.timeline.add(Mark(text=text))
        self._dirty = ""
        self._lent = False
        self._registration = None


def told_of(instance: Instance) -> str:
    """The process and the name of an attached driver, as far as they are known."""
    driver = cast(AttachedDriver, instance.driver)
    process = f"process {driver.pid}" if driver.pid > 0 else "a process that is not seen from here"
    name = instance.driver_name
    return f"{process}, {f'registered as {name}' if name else 'not registered yet'}"


def _listener(path: Path) -> int | None:
    """Id of the process that listens on the socket, 0 if it cannot be seen; None if none does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(CONNECT_S)
        try:
            probe.connect(os.fsencode(path))
            seen = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, UCRED.size)
        except OSError:
            return None
    pid: int = UCRED.unpack(seen)[0]
    return max(0, pid)

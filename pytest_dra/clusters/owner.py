"""Which process a run is, so that others can tell whether it still lives."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import os
import socket
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_BOOT_ID: Final = _PROC / "sys/kernel/random/boot_id"

_AFTER_NAME: Final = b") "
"""Ends the name in ``/proc/PID/stat``, which may hold anything."""

OWNED: Final = "pytest-dra.dev/owner"
"""Label of containers and networks of a run: the process that the run is."""

SEPARATOR: Final = "/"
"""Between the parts of a label: in none of them."""

PID: Final = 3
"""Place of the process id among them."""

_START: Final = 19
"""Place of the start time (field 22 of the line) behind the name."""


class State(enum.Enum):
    """What is known of a process."""

    ALIVE = "alive"
    ENDED = "ended"
    ELSEWHERE = "elsewhere"
    """On another machine or in another container: it cannot be seen from here."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process by what no other one has.

    ``space`` is its process namespace, ``start`` when it began in clock ticks after the boot,
    ``since`` the same for people.
    """

    host: str
    boot: str
    space: str
    pid: int
    start: str
    since: str

    @classmethod
    def here(cls) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(
            host=socket.gethostname(),
            boot=_boot(),
            space=_space(),
            pid=pid,
            start=_start(pid),
            since=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        )

    @classmethod
    def read(cls, text: str) -> Owner | None:
        """The inverse of :meth:`written`; None if the text is something else."""
        try:
            found = json.loads(text)
            return cls(
                host=str(found["host"]),
                boot=str(found["boot"]),
                space=str(found["space"]),
                pid=int(found["pid"]),
                start=str(found["start"]),
                since=str(found["since"]),
            )
        except (ValueError, LookupError, TypeError):
            return None

    def written(self) -> str:
        """As text of one line."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    def label(self) -> str:
        """The same as the value of a container's label, without what separates labels."""
        return SEPARATOR.join(
            (self.host, self.boot, self.space, str(self.pid), self.start, self.since)
        )

    @classmethod
    def from_label(cls, text: str) -> Owner | None:
        """The inverse of :meth:`label`; None if the text is something else."""
        parts = text.split(SEPARATOR)
        if len(parts) != len(dataclasses.fields(cls)) or not parts[PID].isdecimal():
            return None
        host, boot, space, pid, start, since = parts
        return cls(host=host, boot=boot, space=space, pid=int(pid), start=start, since=since)

    def state(self, *, local: bool = False) -> State:
        """Whether it still lives.

        ``local``: it can only have been on this machine, so that it has not outlived a boot.
        """
        if self.boot != _boot():
            return State.ENDED if local else State.ELSEWHERE
        if self.space != _space():
            return State.ELSEWHERE
        return State.ALIVE if self.start and _start(self.pid) == self.start else State.ENDED

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


def _boot() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def _space() -> str:
    try:
        return str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return ""


def _start(pid: int) -> str:
    """When a process began; empty if there is none, or only what is left of it."""
    try:
        line = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return ""
    fields = line.rpartition(_AFTER_NAME)[2].decode("ascii", "replace").split()
    return "" if fields[0] in ("Z", "X") else fields[_START]

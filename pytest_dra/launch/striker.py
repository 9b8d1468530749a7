"""Kills processes at a chosen write below some directories, before they do anything else.

A script of its own, standard library only, run as ``python -I -S striker.py``: in pytest's own
process the thread that looks would wait for the interpreter's lock while the driver goes on. It
moves the processes to the one CPU that it sleeps on itself, with the lowest priority, and takes
the highest that it may have: each write wakes it, takes the CPU from the process that wrote, and so
comes before that process's next step (as root for certain, without real-time priority mostly).

It reads one JSON object a line from standard input and answers with one a line on standard output:

``{"do": "arm", "groups": [PID], "roots": [PATH], "number": N}``  -> ``{"armed": true}``
``{"do": "go"}``     the call is sent now
``{"do": "over"}``   it has ended  -> ``{"struck": false, "writes": N}`` unless it has struck

At the ``number``-th write it sends SIGKILL to the process groups and answers ``{"struck": true,
"writes": N}``; ``writes`` counts those that were made before the processes were dead. With
``after_s`` in place of ``number`` it strikes so many seconds after ``go``, come what may. An answer
``{"error": TEXT}`` says that the directories cannot be watched.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import select
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

IN_MODIFY = 0x2
IN_MOVED_TO = 0x80
IN_CREATE = 0x100
IN_DELETE = 0x200
IN_ONLYDIR = 0x1000000
IN_DONT_FOLLOW = 0x2000000
IN_ISDIR = 0x40000000
"""From linux/inotify.h."""

WRITES = IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_DELETE
"""A write operation: a file is made, written to, renamed into place or removed."""

WATCHED = WRITES | IN_ONLYDIR | IN_DONT_FOLLOW

HEADER = struct.Struct("iIII")
"""``struct inotify_event``: watch, mask, cookie, length of the name."""

DIRECTORIES = 1000
"""Directories that are watched: many times what a driver has."""

CHUNK = 1 << 16
"""Bytes of events that are read at once, and of commands."""

LATE_S = 0.05
"""How long writes after the answer are waited for: a driver that writes behind does so at once."""

DEATH_S = 5.0
"""Longest wait for a killed process: only one in uninterruptible sleep takes long."""

DEATH_PAUSE_S = 0.001

LONGEST_S = 60.0
"""Between two looks at the clock; events wake."""

LOWEST = 19
"""The nice value of the lowest priority."""

_libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    """Counts writes below some directories."""

    def __init__(self, roots: list[str]) -> None:
        self.fd = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._paths: dict[int, str] = {}
        self._counted: set[tuple[int, str]] = set()
        for root in roots:
            self._add(root)

    def _add(self, top: str) -> list[tuple[int, str]]:
        """Watch a directory and all below it; links are not followed. Returns what is in them."""
        inside = []
        pending = [top]
        while pending and len(self._paths) < DIRECTORIES:
            directory = pending.pop()
            # Watched before it is listed, so that nothing is made between the two unseen.
            number = _libc.inotify_add_watch(self.fd, os.fsencode(directory), WATCHED)
            if number < 0:
                continue
            self._paths[number] = directory
            with contextlib.suppress(OSError), os.scandir(directory) as entries:
                for entry in entries:
                    inside.append((number, entry.name))
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        return inside

    def read(self) -> int:
        """The writes since the last look."""
        try:
            data = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return 0
        writes, at = 0, 0
        while at < len(data):
            watch, mask, _, length = HEADER.unpack_from(data, at)
            at += HEADER.size
            name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
            at += length
            if mask & IN_CREATE and (watch, name) in self._counted:
                self._counted.discard((watch, name))
                continue
            if mask & IN_DELETE:
                self._counted.discard((watch, name))
            writes += bool(mask & WRITES)
            if mask & IN_ISDIR and mask & (IN_CREATE | IN_MOVED_TO) and watch in self._paths:
                inside = self._add(f"{self._paths[watch]}/{name}")
                if mask & IN_CREATE:
                    # What was made before it was watched has no event, the rest has one as well.
                    writes += len(inside)
                    self._counted.update(inside)
        return writes


def group_of(pid: int) -> int:
    """The process group of a living process; 0 if it is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return 0 if fields[0] in "ZX" else int(fields[2])
    except (OSError, ValueError, IndexError):
        return 0


def members(groups: list[int]) -> list[int]:
    """Pids of all living processes of some process groups."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [pid for pid in pids if group_of(pid) in groups]


def hold(pids: list[int], cpu: int) -> None:
    """Move processes to one CPU, with the lowest priority; what may not be moved stays."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(task.name), {cpu})
                    os.setpriority(os.PRIO_PROCESS, int(task.name), LOWEST)


def kill(groups: list[int], pids: list[int]) -> None:
    """SIGKILL, and wait until the processes are dead."""
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    end = time.monotonic() + DEATH_S
    while any(group_of(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(DEATH_PAUSE_S)


def tell(message: dict[str, Any]) -> None:
    """One line to the owner."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def commands(left: list[bytes]) -> list[dict[str, Any]]:
    """What the owner has sent; ``left`` keeps the beginning of a line."""
    data = os.read(0, CHUNK)
    if not data:
        raise EOFError
    *lines, rest = (b"".join(left) + data).split(b"\n")
    left[:] = [rest]
    return [json.loads(line) for line in lines]


def strike(order: dict[str, Any], cpu: int, left: list[bytes]) -> None:
    """Watch one call; see the module."""
    number, after_s = order.get("number"), order.get("after_s")
    watch = Watch(order["roots"])
    try:
        pids = members(order["groups"])
        if number is not None:
            hold(pids, cpu)
        tell({"armed": True})
        writes, at, end = 0, math.inf, math.inf
        while writes < (math.inf if number is None else number) and time.monotonic() < at:
            now = time.monotonic()
            if end <= now:
                tell({"struck": False, "writes": writes})
                return
            left_s = max(0.0, min(at, end) - now)
            ready, _, _ = select.select([watch.fd, 0], [], [], min(left_s, LONGEST_S))
            if watch.fd in ready:
                writes += watch.read()
            for each in commands(left) if 0 in ready else ():
                if each["do"] == "go" and after_s is not None:
                    at = time.monotonic() + after_s
                elif each["do"] == "over" and after_s is None:
                    end = time.monotonic() + LATE_S
        kill(order["groups"], pids)
        tell({"struck": True, "writes": writes + watch.read()})
    finally:
        os.close(watch.fd)


def main() -> None:
    """Serve until the owner closes standard input."""
    cpu = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    with contextlib.suppress(OSError):
        # Without the right to it the lowest priority of the others has to do.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    left: list[bytes] = []
    with contextlib.suppress(EOFError):
        while True:
            for order in commands(left):
                if order["do"] == "arm":
                    try:
                        strike(order, cpu, left)
                    except OSError as error:
                        tell({"error": error.strerror or str(error)})


if __name__ == "__main__":
    main()

"""A command that is run to its end: its time and what is kept of its output are bounded."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from pytest_dra.launch.error import LaunchError
from pytest_dra.waiting import Deadline

CHUNK: Final = 1 << 16
LOOK_S: Final = 0.05
"""Pause between two looks whether a command has ended that prints nothing."""

RESTS: Final = 4
"""Looks at the pipes once the command has ended: each takes what a pipe holds by default."""

KILLED_S: Final = 5.0
"""Longest wait for a process to be dead after SIGKILL."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """Exit code (below 0: minus the signal's number), and what is kept of the output."""

    code: int
    printed: str
    complained: str


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    timeout_s: float,
    begin: int,
    end: int,
) -> Ended:
    """Run a command without input in a session of its own.

    What it has started in the background may go on; its output is not waited for.

    Args:
        argv: the program's path, and its arguments.
        env: the whole environment.
        timeout_s: then it is killed with all of its session.
        begin: bytes that are kept of what it prints first.
        end: bytes that are kept of what it complains last (standard error).

    Raises:
        LaunchError: it cannot be started, or has not ended in time; with the end of its complaints.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise LaunchError(f"{argv[0]}: {error}") from error
    with process:
        kept = _Kept(process, begin, end)
        in_time = kept.read_until(Deadline.after(timeout_s))
        if not in_time:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        code = process.wait(KILLED_S)
        kept.read_rest()
    if not in_time:
        said = f": {kept.complained}" if kept.complained else ""
        raise LaunchError(f"has not ended within {timeout_s:g} s{said}")
    return Ended(code, kept.printed, kept.complained)


class _Kept:
    """Reads both streams, so that nothing waits for us, and keeps a part of each."""

    def __init__(self, process: subprocess.Popen[bytes], begin: int, end: int) -> None:
        self._process = process
        self._begin = begin
        self._end = end
        self._out = b""
        self._err = b""
        self._selector = selectors.DefaultSelector()
        for stream, name in ((process.stdout, "out"), (process.stderr, "err")):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ, name)

    @property
    def printed(self) -> str:
        return self._out.decode(errors="replace")

    @property
    def complained(self) -> str:
        return self._err.decode(errors="replace").strip()

    def read_until(self, deadline: Deadline) -> bool:
        """Read until the process has ended; False if it has not in time."""
        while self._process.poll() is None:
            if deadline.passed:
                return False
            self._read(min(LOOK_S, deadline.left_s()))
        return True

    def read_rest(self) -> None:
        """Read what is there already; what goes on in the background may print for ever."""
        for _ in range(RESTS):
            if not self._read(0.0):
                break
        self._selector.close()

    def _read(self, wait_s: float) -> bool:
        found = False
        if not self._selector.get_map():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
            return False
        for key, _ in self._selector.select(wait_s):
            data = os.read(key.fd, CHUNK)
            if not data:
                self._selector.unregister(key.fileobj)
            elif key.data == "out":
                self._out = (self._out + data)[: self._begin]
            else:
                self._err = (self._err + data)[-self._end :]
            found = found or bool(data)
        return found

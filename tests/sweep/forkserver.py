"""Runs of pytest that are forked from a process which has imported what they need.

Tests of the plugin and of drivers begin hundreds of runs; importing is most of what each costs.
What a test does with such a run is what it does with a process of its own: arguments, directory,
environment, output and exit status. Where the start itself is looked at, or signals are sent, it
has to be executed.

``python -m tests.sweep.forkserver DESCRIPTOR`` is the other end of the socket.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from tests.sweep import judging
from tests.sweep import keeping

PROJECT = Path(__file__).parents[2]

READY_S = 120.0
"""Longest wait for the imports, those on a busy machine, and for a run to be begun."""

KILLED_S = 20.0
"""Longest wait for the end of a run that was killed."""

LENGTH = struct.Struct("!I")
"""Goes before each message, with the descriptors of a run's output beside it."""

GONE = "the process that forks runs of pytest is gone"

STREAMS = 2
"""Descriptors that go with a request: standard output and standard error."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that is wanted: pytest's arguments, its directory and its whole environment."""

    arguments: tuple[str, ...]
    directory: str
    env: Mapping[str, str]


class ForkServer:
    """The process that forks; one run at a time.

    It ends with the process that has made it.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            argv = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                argv,
                cwd=PROJECT,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    @property
    def pid(self) -> int:
        """Of the process that forks."""
        return self._process.pid

    def run(
        self, arguments: Sequence[str], *, directory: Path, env: Mapping[str, str], limit_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Have pytest run: its exit code, below zero for a signal, and what it has printed.

        Args:
            arguments: of pytest.
            directory: where it runs.
            env: all of its environment.
            limit_s: longest run.

        Raises:
            subprocess.TimeoutExpired: it took longer, and was killed.
            EOFError: the process that forks is gone.
        """
        argv = ["pytest", *arguments]
        with _stream() as stdout, _stream() as stderr:
            pid = self._begin(arguments, directory, env, [stdout.fileno(), stderr.fileno()])
            self._socket.settimeout(limit_s)
            try:
                code = _number(self._socket)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._socket.settimeout(KILLED_S)
                _number(self._socket)
                raise subprocess.TimeoutExpired(argv, limit_s) from None
            stdout.seek(0)
            stderr.seek(0)
            return subprocess.CompletedProcess(argv, code, stdout.read(), stderr.read())

    def _begin(
        self,
        arguments: Sequence[str],
        directory: Path,
        env: Mapping[str, str],
        streams: Sequence[int],
    ) -> int:
        """Begin a run; its pid."""
        wanted = Run(arguments=tuple(arguments), directory=str(directory), env=dict(env))
        text = json.dumps(dataclasses.asdict(wanted)).encode()
        try:
            socket.send_fds(self._socket, [LENGTH.pack(len(text))], streams)
            self._socket.sendall(text)
        except BrokenPipeError as error:
            raise EOFError(GONE) from error
        self._socket.settimeout(READY_S)
        return _number(self._socket)


def _stream() -> IO[str]:
    """A file for what a run prints."""
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


@functools.cache
def forkserver() -> ForkServer:
    """The one of this process."""
    return ForkServer()


def _number(connection: socket.socket) -> int:
    """Read a number; the other end writes each at once."""
    try:
        data = connection.recv(LENGTH.size, socket.MSG_WAITALL)
    except ConnectionResetError as error:
        raise EOFError(GONE) from error
    if len(data) < LENGTH.size:
        raise EOFError(GONE)
    return int.from_bytes(data, "big", signed=True)


def _tell(connection: socket.socket, number: int) -> None:
    connection.sendall(number.to_bytes(LENGTH.size, "big", signed=True))


def _become(run: Run, streams: Sequence[int]) -> None:
    """Be what ``python -m pytest`` would be in that directory and environment."""
    keeping.end_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(run.directory)
    os.environ.clear()
    os.environ.update(run.env)
    tempfile.tempdir = None
    paths = [path for path in run.env.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:1] = [run.directory, *paths]
    sys.pycache_prefix = run.env.get("PYTHONPYCACHEPREFIX")
    sys.dont_write_bytecode = bool(run.env.get("PYTHONDONTWRITEBYTECODE"))
    sys.argv[1:] = run.arguments
    for standard, descriptor in enumerate(streams, start=1):
        os.dup2(descriptor, standard)
        os.close(descriptor)


def _fork(run: Run, streams: Sequence[int], connection: socket.socket) -> int:
    """Begin a run; its pid."""
    pid = os.fork()
    if pid == 0:
        code: int = pytest.ExitCode.INTERNAL_ERROR
        try:
            connection.close()
            _become(run, streams)
            code = pytest.main(list(run.arguments))
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def serve(connection: socket.socket) -> None:
    """Fork what is asked for, until nobody asks."""
    while True:
        select.select([connection], [], [])
        head, streams, _flags, _address = socket.recv_fds(connection, LENGTH.size, STREAMS)
        if not head:
            return
        (length,) = LENGTH.unpack(head)
        text = connection.recv(length, socket.MSG_WAITALL)
        run = Run(**json.loads(text))
        pid = _fork(run, streams, connection)
        for descriptor in streams:
            os.close(descriptor)
        _tell(connection, pid)
        _pid, status = os.waitpid(pid, 0)
        _tell(connection, os.waitstatus_to_exitcode(status))


def main(arguments: Sequence[str]) -> int:
    """Import what runs need, and serve the socket with this descriptor."""
    keeping.end_with_parent()
    (descriptor,) = arguments
    with socket.socket(fileno=int(descriptor)) as connection:
        judging.import_all()
        serve(connection)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

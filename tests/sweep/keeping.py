"""A keeper that is forked beside its judge, and forks the fake drivers that it is to start.

It is the keeper of ``launch/keeper.py``; only the start of a fake driver differs: a forked process
in place of an interpreter that imports the driver anew. Everything else is executed as ever.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import IO
from typing import Any
from typing import NoReturn

from pytest_dra.fake_driver import __main__ as program
from pytest_dra.launch import process

DRIVER = [sys.executable, "-m", "pytest_dra.fake_driver"]
"""How the command of a fake driver begins."""


def _module(name: str) -> types.ModuleType:
    found = importlib.util.spec_from_file_location(name, process.KEEPER_SCRIPT)
    if found is None or found.loader is None:
        raise ImportError(f"{process.KEEPER_SCRIPT} cannot be loaded")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


KEEPER = _module("tests.sweep.keeper")


def end_with_parent() -> None:
    """Have this process killed when its parent ends."""
    KEEPER._libc.prctl(KEEPER.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Forked:
    """A process that was forked, as far as it is used like one of :mod:`subprocess`."""

    def __init__(
        self, pid: int, stdin: IO[bytes] | None = None, stdout: IO[bytes] | None = None
    ) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, None while it lives."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end; its exit code."""
        if self.returncode is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                if not select.select([descriptor], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired("forked", timeout or 0.0)
            finally:
                os.close(descriptor)
        return self.poll()

    def kill(self) -> None:
        """SIGKILL."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def keep_ready() -> None:
    """Fork the keeper that the first run in this process will use.

    Now, as long as nothing runs beside: a fork takes no threads along, but their locks.
    """
    there, ours = os.pipe()
    back, answers = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _be(lambda: _keep(parent, there, answers))
    os.close(there)
    os.close(answers)
    ready = [Forked(pid, os.fdopen(ours, "wb", 0), os.fdopen(back, "rb", 0))]
    execute = process.start_script

    def start() -> Any:
        return ready.pop() if ready else execute()

    process.start_script = start


def _keep(parent: int, commands: int, answers: int) -> None:
    """Be the keeper of this parent, until it closes or ends."""
    os.setsid()
    os.chdir("/")
    _take((commands, answers, os.open(os.devnull, os.O_WRONLY)))
    KEEPER._libc.prctl(KEEPER.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Everything of the module, but for the start of processes.
    vars(KEEPER)["subprocess"] = types.SimpleNamespace(**{**vars(subprocess), "Popen": spawn})
    KEEPER.Keeper(parent).run()


def spawn(argv: Sequence[str], **how: Any) -> Any:
    """What the keeper calls in place of :class:`subprocess.Popen`."""
    if list(argv[: len(DRIVER)]) != DRIVER:
        return subprocess.Popen(argv, **how)
    pid = os.fork()
    if pid == 0:
        _be(lambda: _drive(argv[len(DRIVER) :], **how))
    return Forked(pid)


def _drive(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    stdin: int,
    stdout: int,
    stderr: int,
    start_new_session: bool,
    preexec_fn: Callable[[], None],
) -> None:
    """Be a fake driver."""
    if start_new_session:
        os.setsid()
    preexec_fn()
    os.chdir(cwd)
    empty = os.open(os.devnull, os.O_RDONLY) if stdin == subprocess.DEVNULL else stdin
    _take((empty, stdout, stderr))
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [str(program.__file__), *arguments]
    program.main()


def _take(standard: tuple[int, int, int]) -> None:
    """Have these as standard input, output and error, and nothing else open."""
    held = [os.dup(descriptor) for descriptor in standard]
    for number, descriptor in enumerate(held):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _be(what: Callable[[], None]) -> NoReturn:
    """End the process when this returns, or in whatever way it ends."""
    code = 1
    try:
        what()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)

"""Programs of the machine that are called and end: container engines, kind, helm, kubectl."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO
from typing import Final

from pytest_dra.launch.inherited import inherited

OUTPUT_MAX: Final = 16 << 20
"""Bytes of a program's output that are read: lists of images and nodes are far smaller."""

ERROR_TAIL: Final = 2000
"""Characters of the end of what a program said that stand in a message."""

END_S: Final = 10.0
"""Longest wait for a program after SIGKILL."""


class ToolError(Exception):
    """A program cannot be run, failed, or did not end in time.

    ``code`` is its exit status, None where it has none; ``said`` the end of its output.
    """

    def __init__(self, message: str, *, code: int | None = None, said: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.said = said


def find(program: str) -> str | None:
    """The path of a program on PATH, or of one that is given with its path; None if not there."""
    return shutil.which(program)


def python_path() -> str:
    """PYTHONPATH for a Python that runs a module of this package, installed or not."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(Path(__file__).parents[2]), *([given] if given else [])])


def call(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: bytes = b"",
    source: IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a program to its end; returns what it wrote to standard output.

    It runs in a process group of its own, which is killed as a whole when the time is over or
    this process is interrupted.

    Args:
        argv: the program and its arguments.
        timeout_s: longest wait for its end.
        stdin: what it reads.
        source: a file that it reads from there on, in place of ``stdin``.
        env: variables beside those of this process.
        cwd: where it runs; here by default.

    Raises:
        ToolError: see the class.
    """
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=source or given,
                stdout=out,
                stderr=err,
                env={**inherited(), **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"{argv[0]} cannot be run: {error}") from error
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            said = _tail(err) or _tail(out)
            raise ToolError(
                f"{_shown(argv)} has not ended after {timeout_s:g} s{_ending(said)}", said=said
            ) from error
        finally:
            _end(process)
        if code:
            said = _tail(err) or _tail(out)
            raise ToolError(
                f"{_shown(argv)} failed with status {code}{_ending(said)}", code=code, said=said
            )
        out.seek(0)
        return out.read(OUTPUT_MAX).decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_S)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - ERROR_TAIL))
    return file.read(ERROR_TAIL).decode(errors="replace").strip()


def _shown(argv: Sequence[str]) -> str:
    return " ".join(argv[:3])


def _ending(said: str) -> str:
    return f": {said}" if said else ""

"""Report files: written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
MODE = 0o666
"""The user's umask decides, as for every other file that a program writes."""


class ReportError(Exception):
    """A report could not be written."""


class Unwritable(ReportError):
    """A file or directory that cannot be written: ``path``, and the ``reason``.

    The text names ``--dra-output``; what writes elsewhere says it in its own words.
    """

    def __init__(self, path: Path, error: Exception, *, directory: Path) -> None:
        self.path = path
        self.reason = str(getattr(error, "strerror", None) or error)
        super().__init__(
            f"--dra-output={directory}: cannot write there: {self.reason}. "
            "Name a directory that you may write to with --dra-output=DIR."
        )


def output_must_be_writable(directory: Path) -> None:
    """Make the output directory if it is not there, and try a file in it.

    To be called before anything is started: a run of minutes must not end without its report.

    Raises:
        Unwritable: names ``--dra-output``, the directory and the reason.
    """
    probe = directory / f".{secrets.token_hex(8)}.tmp"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        os.close(os.open(probe, WRITE, MODE))
        probe.unlink()
    except (OSError, ValueError) as error:
        raise Unwritable(directory, error, directory=directory) from error


def write_whole(path: Path, text: str) -> None:
    """Write a file of UTF-8 text by way of a temporary one beside it.

    A reader sees the old content or the new one, never a part.

    Raises:
        Unwritable: names ``--dra-output``, the directory and the reason.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(temporary, WRITE, MODE), "w", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise Unwritable(path, error, directory=path.parent) from error


def append(path: Path, text: str) -> None:
    """Add to a file of UTF-8 text, which is made if it is not there.

    Raises:
        ReportError: names the file and the reason.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ReportError(f"the summary cannot be appended to {path}: {reason}") from error

"""Files that are there completely or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

TEMPORARY: Final = ".tmp"
"""Suffix of unfinished files: no reader of specs (.json, .yaml) or checkpoints takes them."""

FILE_MAX: Final = 1 << 20
"""Bytes of a file of our own that are read back."""


def write(path: Path, data: bytes, *, mode: int) -> None:
    """Write ``data`` under ``path`` by a rename inside its directory; OSError if that fails."""
    unfinished = path.with_name(f".{path.name}{TEMPORARY}")
    handle = os.open(
        unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode
    )
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    sync(path.parent)


def remove(path: Path) -> None:
    """Remove ``path`` if it is there, its unfinished twin too; a loss of power brings none back."""
    found = False
    for each in (path, path.with_name(f".{path.name}{TEMPORARY}")):
        with contextlib.suppress(FileNotFoundError):
            each.unlink()
            found = True
    if found:
        sync(path.parent)


def sync(directory: Path) -> None:
    """Make renames in ``directory`` durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read(path: Path) -> bytes:
    """Read a file of our own; ValueError if it is larger than we write them."""
    with path.open("rb") as file:
        data = file.read(FILE_MAX + 1)
    if len(data) > FILE_MAX:
        raise ValueError(f"{path} has more than {FILE_MAX} bytes")
    return data

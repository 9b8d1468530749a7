"""Reading spec directories: bounded, never blocking, never raising for what lies there."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.library import Library

MAXIMUM_FILE_BYTES = 10 * 1024 * 1024
"""Bytes of one spec file: a thousand times what drivers write; the library has no limit."""

MAXIMUM_FILES = 2_000
"""Spec files of one directory: more than claims fit on a node."""

MAXIMUM_ENTRIES = 50_000
"""Entries of one directory that are looked at, so that listing it stays bounded."""

SPEC_SUFFIXES = (".json", ".yaml")
"""The extensions that the library reads, in exactly this spelling."""

_NULL_DEVICE = os.makedev(1, 3)
"""Linux's /dev/null, with which files are masked: reads as empty, without opening it."""

_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What lies in a directory, by name: specs, other files, and what is wrong with it."""

    specs: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()
    stop: bool = False


def is_spec_name(name: str) -> bool:
    """Whether the library reads a file of this name: ``.json`` alone counts."""
    dot = name.rfind(".")
    return dot >= 0 and name[dot:] in SPEC_SUFFIXES


def list_directory(directory: Path, *, library: Library) -> Listing:
    """List ``directory`` as the library does; a missing one is empty.

    1.1.0 does not enter a directory that is a symbolic link, and takes a file in its place for a
    spec; 1.1.2 enters links, and a file in the place of a directory stops the whole scan.
    """
    try:
        if library is Library.V1_1_0:
            mode = directory.lstat().st_mode
            if not stat.S_ISDIR(mode):
                return _instead_of_directory(directory, mode)
        with os.scandir(directory) as entries:
            found = list(itertools.islice(entries, MAXIMUM_ENTRIES + 1))
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOENT:
            return Listing()
        return Listing(problems=(f"{directory}: {_reason(error)}",), stop=library is Library.V1_1_2)
    problems = []
    if len(found) > MAXIMUM_ENTRIES:
        problems.append(f"{directory}: more than {MAXIMUM_ENTRIES} entries, the rest is not read")
    return _sorted(directory, found, problems)


def _instead_of_directory(directory: Path, mode: int) -> Listing:
    what = "a symbolic link" if stat.S_ISLNK(mode) else "no directory"
    problem = f"{directory}: {what}: library 1.1.0 reads no specs there"
    if is_spec_name(directory.name):
        return Listing(specs=(directory,), problems=(problem,))
    return Listing(problems=(problem,))


def _sorted(directory: Path, found: Iterable[os.DirEntry[str]], problems: list[str]) -> Listing:
    specs: list[Path] = []
    others: list[Path] = []
    for entry in sorted(found, key=lambda entry: os.fsencode(entry.name)):
        try:
            if entry.is_dir(follow_symlinks=False):
                continue
        except OSError as error:
            problems.append(f"{directory / entry.name}: {_reason(error)}")
            continue
        (specs if is_spec_name(entry.name) else others).append(directory / entry.name)
    if len(specs) > MAXIMUM_FILES:
        problems.append(f"{directory}: more than {MAXIMUM_FILES} specs, the rest is not read")
    return Listing(
        specs=tuple(specs[:MAXIMUM_FILES]), others=tuple(others), problems=tuple(problems)
    )


def read_file(path: Path) -> bytes:
    """The bytes of a spec file, through links as the runtime does; raises :class:`CdiError`."""
    try:
        status = path.stat()
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == _NULL_DEVICE:
            return b""
        _require_regular(status.st_mode)
        return _read(path)
    except OSError as error:
        reason = "not-found" if error.errno == errno.ENOENT else "read"
        raise CdiError(f"cannot be read: {_reason(error)}", reason=reason) from None
    except CdiError:
        raise
    except ValueError as error:
        raise CdiError(f"cannot be read: {error}", reason="read") from None


def _read(path: Path) -> bytes:
    descriptor = os.open(path, _OPEN_FLAGS)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - only open() takes a descriptor
        _require_regular(os.fstat(file.fileno()).st_mode)
        data = file.read(MAXIMUM_FILE_BYTES + 1)
    if len(data) > MAXIMUM_FILE_BYTES:
        raise CdiError(
            f"larger than {MAXIMUM_FILE_BYTES} bytes, which this reader does not load;"
            " want a smaller file",
            reason="too-large",
        )
    return data


def _require_regular(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise CdiError(
            "a FIFO or device node: the runtime that reads it may hang for ever;"
            " want a regular file",
            reason="not-a-file",
        )
    raise CdiError("cannot be read: want a regular file", reason="read")


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else None
    return text or str(error)


def digest(data: bytes) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()

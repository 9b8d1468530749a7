"""Removing directories that drivers could write to, whatever they have made of them.

Standard library only: the keeper's script runs this file. No link is followed, what is mounted is
unmounted and never entered, and neither depth nor permissions are in the way.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import re
import stat
import time
from pathlib import Path

MNT_DETACH = 2
UMOUNT_NOFOLLOW = 8
"""From linux/fs.h."""

MOUNTS = "/proc/self/mountinfo"
POINT = 4
"""Column of a mount's path in there (proc(5))."""

CHUNK = 4096
"""Entries of a directory that are taken at once: it may have millions."""

REMOVE_TRIES = 3
"""What a dying process still makes while we remove is removed the next time."""

REMOVE_LIMIT_S = 10.0
"""Longest removal of one directory: a million files. More are left, and told."""

MADE_MODE = 0o755
ROOT_MODE = 0o700

_ESCAPED = re.compile(rb"\\([0-7]{3})")
_libc = ctypes.CDLL(None, use_errno=True)


def remove(path: str) -> bool:
    """Remove a directory of ours, or what a driver has put in its place; True if it is gone."""
    end = time.monotonic() + REMOVE_LIMIT_S
    for _ in range(REMOVE_TRIES):
        try:
            about = os.lstat(path)
            if not stat.S_ISDIR(about.st_mode):
                # Of a link only itself lies here.
                Path(path).unlink()
            elif about.st_uid == os.getuid() and empty(path, end):
                Path(path).rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            continue
    return not os.path.lexists(path)


def empty(path: str, end: float | None = None) -> bool:
    """Remove what lies in a directory; True if nothing is left at ``end`` (monotonic clock).

    Raises:
        OSError: it is none, or not ours.
    """
    if not unmount_below(path):
        return False
    top = _open(path)
    try:
        return _clear(top, time.monotonic() + REMOVE_LIMIT_S if end is None else end)
    finally:
        os.close(top)


def restore(path: str) -> None:
    """Let there be an empty directory at ``path``, whatever is there now.

    Raises:
        OSError: it cannot be.
    """
    if os.path.lexists(path) and not stat.S_ISDIR(os.lstat(path).st_mode):
        Path(path).unlink()
    Path(path).mkdir(mode=MADE_MODE, exist_ok=True)
    if not empty(path):
        raise OSError(errno.ENOTEMPTY, "not emptied in time", path)
    Path(path).chmod(MADE_MODE)


def unmount_below(path: str) -> bool:
    """Unmount what is mounted at ``path`` and below, innermost first; True if nothing is left."""
    for point in reversed(_mounts_below(path)):
        _libc.umount2(point, MNT_DETACH | UMOUNT_NOFOLLOW)
    return not _mounts_below(path)


def _mounts_below(path: str) -> list[bytes]:
    # The last component is not followed: a link there leads to what is not ours.
    real = os.fsencode(Path(path).parent.resolve() / Path(path).name)
    points = []
    with Path(MOUNTS).open("rb") as table:
        for line in table:
            written = line.split(b" ")[POINT]
            point = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), written)
            if point == real or point.startswith(real + b"/"):
                points.append(point)
    return points


def _open(name: str, within: int | None = None) -> int:
    """A descriptor of a directory that may be read and written by us from now on."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
    found = os.open(name, flags, dir_fd=within)
    try:
        itself = f"/proc/self/fd/{found}"
        if os.fstat(found).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            Path(itself).chmod(ROOT_MODE)
        return os.open(itself, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(found)


def _clear(top: int, end: float) -> bool:
    """Empty a directory without going down into it: what lies deeper is moved up first."""
    numbers = itertools.count()
    left: set[str] = set()
    while True:
        entries = [entry for entry in _entries(top, CHUNK + len(left)) if entry[0] not in left]
        if not entries:
            return not left
        for name, is_folder in entries:
            if time.monotonic() > end:
                return False
            try:
                if is_folder:
                    if not _dissolve(name, top, numbers, end):
                        return False
                else:
                    os.unlink(name, dir_fd=top)
            except FileNotFoundError:
                continue
            except OSError:
                left.add(name)


def _dissolve(name: str, top: int, numbers: itertools.count[int], end: float) -> bool:
    """Remove a directory of ``top``; the directories in it become ``top``'s.

    False if that was not done at ``end``.
    """
    folder = _open(name, top)
    try:
        while entries := _entries(folder, CHUNK):
            if time.monotonic() > end:
                return False
            for inner, is_folder in entries:
                if not is_folder:
                    os.unlink(inner, dir_fd=folder)
                    continue
                # Its parent is written in it, so that it has to be open to us as well.
                os.close(_open(inner, folder))
                moved = _free_name(top, numbers)
                os.rename(inner, moved, src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)
    return True


def _free_name(top: int, numbers: itertools.count[int]) -> str:
    for number in numbers:
        name = f".removed-{number}"
        try:
            os.stat(name, dir_fd=top, follow_symlinks=False)
        except FileNotFoundError:
            return name
    raise AssertionError("numbers do not end")


def _entries(folder: int, most: int) -> list[tuple[str, bool]]:
    """At most ``most`` names in a directory, and whether each is a directory itself."""
    with contextlib.closing(os.scandir(folder)) as found:
        return [
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in itertools.islice(found, most)
        ]

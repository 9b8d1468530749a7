"""What lies in the registry directory, and when each socket is tried."""

from __future__ import annotations

import collections
import dataclasses
import os
import stat
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path

from pytest_dra.kubelet.plugins import Plugin
from pytest_dra.kubelet.registration import Next
from pytest_dra.kubelet.settings import KubeletSettings

MAX_DEPTH = 16
"""Sub-directories below the registry directory that are entered. The kubelet has no limit; drivers
use one level at most."""

MAX_ENTRIES = 4096
"""Directory entries looked at in one scan, so that a driver that fills the directory cannot stop
the stand-in."""

MAX_PATHS = 1024
"""Paths whose pause is remembered after their removal; the oldest are forgotten first."""

Identity = tuple[int, int, int]
"""Device, inode and modification time: another socket at the same path has another one.

Inodes are used again at once, and the change time moves with every chmod.
"""


Locate = Callable[[Path], Path]
"""Where a path of a plugin lies for us."""


def there(path: Path) -> Path:
    """The place of a path for a plugin that sees the same file systems as we do."""
    return path


def scan(
    registry_dir: Path,
    *,
    dot_directories: frozenset[Path] = frozenset(),
    locate: Locate = there,
) -> dict[Path, Identity]:
    """All sockets below ``registry_dir`` that the kubelet would look at.

    Names with a leading dot are skipped, unless they are ``dot_directories``. Links to sockets are
    followed to where ``locate`` says, links to directories are not.
    """
    found: dict[Path, Identity] = {}
    for entry in _entries(registry_dir, lambda path: path in dot_directories):
        if not entry.name.startswith("."):
            identity = identity_of(entry, locate)
            if identity is not None:
                found[Path(entry.path)] = identity
    return found


def dot_directories(registry_dir: Path) -> frozenset[Path]:
    """The directories with a leading dot that are there now.

    A starting kubelet walks into them, while it skips those that appear later (recordings
    restart-dot-names and reg-names).
    """
    found: set[Path] = set()

    def keep(path: Path) -> bool:
        found.add(path)
        return True

    collections.deque(_entries(registry_dir, keep), maxlen=0)
    return frozenset(found)


def _entries(registry_dir: Path, enter_dots: Callable[[Path], bool]) -> Iterator[os.DirEntry[str]]:
    """What lies below ``registry_dir`` and is no directory, within the bounds.

    Nothing where it is a link: what a driver has put in its place leads to sockets of others.
    """
    left = 0 if registry_dir.is_symlink() else MAX_ENTRIES
    pending = [(registry_dir, 0)]
    while pending and left > 0:
        directory, depth = pending.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry
                    elif depth < MAX_DEPTH:
                        path = Path(entry.path)
                        if not entry.name.startswith(".") or enter_dots(path):
                            pending.append((path, depth + 1))
        except OSError:
            # Gone or closed to us meanwhile, which the next scan shows.
            continue


def identity_of(path: Path | os.DirEntry[str], locate: Locate = there) -> Identity | None:
    """The socket at ``path``, or that a link there leads to; None if there is none."""
    try:
        about = locate(Path(path)).stat() if path.is_symlink() else path.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISSOCK(about.st_mode):
        return None
    return (about.st_dev, about.st_ino, about.st_mtime_ns)


@dataclasses.dataclass(slots=True)
class _Watched:
    """``identity`` is that of the socket of the last attempt, None before the first one."""

    identity: Identity | None = None
    busy: bool = False
    settled: bool = False
    plugin: Plugin | None = None
    attempts: int = 0
    pause_s: float = 0.0
    retry_at: float = 0.0


class Schedule:
    """Decides what to do with each socket. Pure: it neither looks nor waits nor calls.

    The pause after failures belongs to the path, also across removal, as in the kubelet.
    Not thread-safe.
    """

    def __init__(self, settings: KubeletSettings) -> None:
        self._settings = settings
        self._watched: dict[Path, _Watched] = {}

    def departed(self, found: Mapping[Path, Identity]) -> list[Plugin]:
        """Plugins whose socket file is gone or another one now; they are forgotten here.

        What is at their path now is due at the earliest at the next look.
        """
        gone: list[Plugin] = []
        for path, watched in self._watched.items():
            identity = found.get(path)
            if watched.busy or watched.identity in (None, identity):
                continue
            watched.identity = None
            watched.settled = False
            watched.attempts = 0
            if watched.plugin is not None:
                gone.append(watched.plugin)
                watched.plugin = None
        return gone

    def due(self, found: Mapping[Path, Identity], *, now: float, limit: int) -> list[Path]:
        """At most ``limit`` sockets that are to be tried now."""
        paths = [path for path in found if self._is_due(path, now)]
        return sorted(paths)[: max(0, limit)]

    def begin(self, path: Path, identity: Identity) -> int:
        """An attempt begins; returns its number."""
        watched = self._watched.setdefault(path, _Watched())
        watched.identity = identity
        watched.busy = True
        watched.attempts += 1
        return watched.attempts

    def identify(self, path: Path, identity: Identity | None) -> None:
        """The attempt that has begun meets this socket; one that has gone stays as it was seen."""
        if identity is not None:
            self._watched[path].identity = identity

    def is_of(self, path: Path, identity: Identity | None) -> bool:
        """True if this is the socket that the newest attempt at ``path`` met."""
        watched = self._watched.get(path)
        return watched is not None and watched.identity == identity

    def end(self, path: Path, outcome: Next, *, plugin: Plugin | None, now: float) -> None:
        """An attempt has ended. ``plugin`` is what is registered by it now."""
        watched = self._watched[path]
        watched.busy = False
        watched.plugin = plugin
        watched.settled = outcome is not Next.RETRY
        if outcome is Next.REGISTERED:
            watched.pause_s = 0.0
            watched.retry_at = 0.0
            return
        grown = watched.pause_s * self._settings.backoff_factor
        watched.pause_s = min(grown or self._settings.backoff_s, self._settings.backoff_limit_s)
        watched.retry_at = now + watched.pause_s

    def forget_old(self, found: Mapping[Path, Identity]) -> None:
        """Forget the pauses of removed sockets beyond ``MAX_PATHS``."""
        gone = [
            path
            for path, watched in self._watched.items()
            if path not in found and not watched.busy and watched.plugin is None
        ]
        for path in gone[: max(0, len(gone) - MAX_PATHS)]:
            del self._watched[path]

    def _is_due(self, path: Path, now: float) -> bool:
        watched = self._watched.get(path)
        if watched is None:
            return True
        return not watched.busy and not watched.settled and now >= watched.retry_at

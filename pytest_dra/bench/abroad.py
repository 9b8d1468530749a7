"""The directories of the host that drivers know by heart, beside drivers that are not jailed.

A driver with fixed paths writes there instead of where it was told to. Others write there as well,
such as the kubelet of the machine and its drivers: a path counts as the driver's only where
something shows that.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import threading
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Final

from pytest_dra.bench.residue import ENTRY_LIMIT
from pytest_dra.bench.residue import Tree
from pytest_dra.launch.jail import WATCHED
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline

if TYPE_CHECKING:
    from pytest_dra.bench.instance import Instance

PLACES: Final = (
    "/var/lib/kubelet/plugins",
    "/var/lib/kubelet/plugins_registry",
    "/var/run/cdi",
    "/etc/cdi",
)
"""Where kubelets, drivers and container runtimes of a node meet."""

PARENTS: Final = (*WATCHED, "/run", "/var/cache", "/var/log")
"""Where programs have a directory of their own, named after them."""

DEPTH: Final = 2
"""Folders of a place that are looked into: deeper lie the volumes of a kubelet's pods."""

TEXT_BYTES: Final = 64 * 1024
"""Begin of a file in which words of ours are looked for."""

WORD_MIN: Final = 5
"""Characters of a word that tells a driver's files from those of others."""

HELD_MAX: Final = 4096
"""Open files of one process that are looked at."""

UNIX_SOCKETS: Final = Path("/proc/net/unix")
UNIX_BYTES: Final = 4 << 20
"""What is read of the kernel's list of sockets: some ten thousand."""

INODE_COLUMN: Final = 6
PATH_COLUMN: Final = 7
"""Where they stand in it, counted from 0 (proc(5))."""

BEGINS: Final = "case "
"""How a mark of the timeline begins that names the case."""


class Abroad:
    """What has appeared in these places since a run began; shared by its benches.

    ``found`` has each path that is a driver's, with the case in which it was first seen.
    """

    def __init__(
        self,
        places: Sequence[str] = PLACES,
        parents: Sequence[str] = PARENTS,
        *,
        declared: Collection[str] = (),
    ) -> None:
        self._places = tuple(dict.fromkeys(map(os.path.realpath, places)))
        self._parents = tuple(dict.fromkeys(map(os.path.realpath, parents)))
        self._declared = tuple(map(os.path.realpath, declared))
        self._lock = threading.Lock()
        self._before: Collection[str] | None = None
        self._new: frozenset[str] = frozenset()
        self._others: set[str] = set()
        self.found: dict[str, str] = {}

    @property
    def unknown(self) -> list[str]:
        """What has appeared in the places that nothing shows to be a driver's."""
        return sorted(path for path in self._others if _within(path, self._places))

    def begin(self) -> None:
        """Remember what is there, before the first driver of the run is started."""
        with self._lock:
            if self._before is None:
                self._before = set(self._now())
                self._new = frozenset(each for each in self._places if each not in self._before)

    def look(self, *, words: Collection[str], pids: Iterable[int], timeline: Timeline) -> None:
        """Find what is new and a driver's.

        Args:
            words: what is in the names or texts of the driver's files only.
            pids: of the driver's processes, whose sockets and open files are theirs.
            timeline: says which case is judged, and takes what is found.
        """
        with self._lock:
            before = self._before or ()
            known = (before, self.found, self._others)
            now = {path for path in self._now() if not any(path in each for each in known)}
            now = {path for path in now if not _within(path, self._declared)}
            if not now:
                return
            told = [word for word in words if len(word) >= WORD_MIN]
            # A driver of that name lives here anyway.
            mine = [word for word in told if not any(word in path for path in before)]
            held = frozenset(held_by(pids))
            for path in sorted(now):
                if not self._is_drivers(path, mine, held):
                    self._others.add(path)
                    continue
                self.found[path] = case_of(timeline)
                timeline.add(Mark(text=f"made outside the driver's directories: {path}"))

    def _now(self) -> Iterator[str]:
        yield from (path for path in self._places if Path(path).is_dir())
        yield from Tree.of({path: Path(path) for path in self._places}, depth=DEPTH).sizes
        for parent in self._parents:
            with contextlib.suppress(OSError), os.scandir(parent) as scan:
                yield from (entry.path for entry in itertools.islice(scan, ENTRY_LIMIT))

    def _is_drivers(self, path: str, words: Iterable[str], held: Collection[str]) -> bool:
        # Nobody else uses a place that was not there when the run began.
        if path in self._new or _within(path, self._new) or path in held:
            return True
        text = f"{path}\n{_text(path)}" if _within(path, self._places) else path
        return any(word in text for word in words)


def look(instance: Instance) -> None:
    """Look for what an instance has made; nothing to do for one in a jail."""
    abroad = instance.place.abroad
    if abroad is not None:
        claims = {claim.uid for each in instance.preparations for claim in each.claims}
        own = {instance.driver_name or "", instance.node, str(instance.directories.root)}
        abroad.look(words=own | claims, pids=instance.driver.pids, timeline=instance.timeline)


def told(found: Mapping[str, str], *, after: str = "") -> str:
    """One clause for a finding: the first path, and how many more; empty if there is none.

    ``after``: what the finding says already; nothing is added to one that names paths itself.
    """
    if not found or any(path in after for path in found):
        return ""
    first = min(found)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"the driver has made {first}{more} outside its directories: give it these by "
        "placeholders, or run it with --dra-jail"
    )


def case_of(timeline: Timeline) -> str:
    """The case that is judged now; empty between two cases."""
    marks = timeline.entries(Mark, where=lambda event: event.text.startswith(BEGINS))
    _, id, what = marks[-1].event.text.split() if marks else ("", "", "")
    return id if what == "begins" else ""


def held_by(pids: Iterable[int]) -> Iterator[str]:
    """The paths of files and sockets that processes have open."""
    sockets = set()
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as scan:
            for entry in itertools.islice(scan, HELD_MAX):
                with contextlib.suppress(OSError):
                    target = str(Path(entry.path).readlink())
                    if target.startswith("/"):
                        yield target
                    elif target.startswith("socket:["):
                        sockets.add(target.removeprefix("socket:[").removesuffix("]"))
    if sockets:
        yield from _paths_of(sockets)


def _paths_of(sockets: Collection[str]) -> Iterator[str]:
    """The paths of sockets by inode."""
    with contextlib.suppress(OSError), UNIX_SOCKETS.open("rb") as file:
        for line in file.read(UNIX_BYTES).decode(errors="replace").splitlines():
            columns = line.split(None, PATH_COLUMN)
            if len(columns) > PATH_COLUMN and columns[INODE_COLUMN] in sockets:
                yield os.path.realpath(columns[PATH_COLUMN])


def _text(path: str) -> str:
    """The begin of a regular file; empty for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        return os.read(handle, TEXT_BYTES).decode(errors="replace") if regular else ""
    except OSError:
        return ""
    finally:
        os.close(handle)


def _within(path: str, directories: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in directories)

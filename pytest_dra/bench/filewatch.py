"""What happens to the files of some directories, as the kernel tells it (inotify(7))."""

from __future__ import annotations

import collections
import contextlib
import os
import select
import threading
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

import inotify_simple
from inotify_simple import flags

from pytest_dra import cdi
from pytest_dra.timeline import FileEvent
from pytest_dra.timeline import Timeline

KEPT_EVENTS = 20_000
"""Events that are recorded of one instance: a thousand times what a driver makes, and no more of
one that makes files without end."""

LOOK_BYTES = 256 * 1024
"""Largest file that is read at an event: what happens meanwhile waits."""

LOOK_AGAIN_MS = 500
"""How often a directory that is not there is looked for: nothing tells of its return."""

STOP_S = 5.0
"""Longest wait for the thread to end; it holds nothing that anybody else needs."""

LOST = "lost"

_MASK = (
    flags.CREATE
    | flags.MODIFY
    | flags.CLOSE_WRITE
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.DELETE
    | flags.MOVE_SELF
    | flags.ONLYDIR
    | flags.DONT_FOLLOW
)

_ACTIONS = {
    flags.CREATE: "created",
    flags.MODIFY: "modified",
    flags.CLOSE_WRITE: "written",
    flags.MOVED_FROM: "moved-from",
    flags.MOVED_TO: "moved-to",
    flags.DELETE: "deleted",
}

_OF_ANY_NAME = frozenset({"moved-from", "deleted"})
"""Actions that are recorded of every file: they make a runtime look again. Of files that are no
specs the others are of no interest."""

_COMPLETE = frozenset({"written", "moved-to"})
"""Actions after which a spec is expected to be whole."""

Look = Callable[[Path], tuple[str, str]]
"""Reads a spec file: its digest, and what is wrong with it."""


class FileWatch:
    """Records what happens in directories on the timeline, from start to stop.

    Args:
        directories: those that are not there are waited for.
        timeline: gets a :class:`FileEvent` for each event.
        instance: named in it.
        look: asked about a spec the moment it was written or moved to its place.
    """

    def __init__(
        self, directories: Sequence[Path], *, timeline: Timeline, instance: str, look: Look
    ) -> None:
        self._directories = tuple(directories)
        self._timeline = timeline
        self._instance = instance
        self._look = look
        self._lock = threading.RLock()
        self._inotify: inotify_simple.INotify | None = None
        self._watched: dict[int, Path] = {}
        self._left = KEPT_EVENTS
        self._last: tuple[Path, str, str] | None = None
        self._wake: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self.problem = ""

    def start(self) -> None:
        """Begin to watch; nothing if that runs already. Where the kernel has no room for it,
        ``problem`` says so."""
        if self._thread is not None:
            return
        try:
            self._inotify = inotify_simple.INotify(nonblocking=True)
        except OSError as error:
            self._lose(f"inotify: {error.strerror}")
            return
        with self._lock:
            self._watch_missing(first=True)
        self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._thread = threading.Thread(
            target=self._run, name=f"files-{self._instance}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread; calling it twice is fine."""
        thread, self._thread = self._thread, None
        wake, self._wake = self._wake, None
        if thread is None or wake is None:
            return
        os.write(wake[1], b"x")
        thread.join(STOP_S)
        self._close()
        for end in wake:
            os.close(end)

    def catch_up(self) -> None:
        """Record all that has happened up to now."""
        with self._lock:
            if self._inotify is None:
                return
            self._watch_missing(first=False)
            queue = collections.deque(self._inotify.read(timeout=0))
            while queue and self._inotify is not None:
                self._take(queue)

    def _run(self) -> None:
        inotify, wake = self._inotify, self._wake
        if inotify is None or wake is None:
            return
        poller = select.poll()
        poller.register(inotify.fileno(), select.POLLIN)
        poller.register(wake[0], select.POLLIN)
        while self._thread is not None and self._inotify is not None:
            missing = len(self._watched) < len(self._directories)
            ready = poller.poll(LOOK_AGAIN_MS if missing else None)
            if any(descriptor == wake[0] for descriptor, _ in ready):
                return
            self.catch_up()

    def _watch_missing(self, *, first: bool) -> None:
        if self._inotify is None:
            return
        for directory in self._directories:
            if directory in self._watched.values():
                continue
            with contextlib.suppress(OSError):
                self._watched[self._inotify.add_watch(directory, _MASK)] = directory
                if not first:
                    self._note(directory, "", "appeared")

    def _take(self, queue: collections.deque[inotify_simple.Event]) -> None:
        event = queue.popleft()
        if event.mask & flags.Q_OVERFLOW:
            self._lose("the kernel's queue of events was full")
            return
        directory = self._watched.get(event.wd)
        if directory is None:
            return
        if event.mask & (flags.MOVE_SELF | flags.IGNORED):
            self._unwatch(event)
            return
        action = next((word for flag, word in _ACTIONS.items() if event.mask & flag), "")
        is_spec = cdi.is_spec_name(event.name) and not event.mask & flags.ISDIR
        if not action or not (is_spec or action in _OF_ANY_NAME):
            return
        looked = ("", "")
        if is_spec and action in _COMPLETE and not _comes_again(event, queue):
            looked = self._looked(directory / event.name)
            if self._inotify is not None:
                queue.extend(self._inotify.read(timeout=0))
            if _comes_again(event, queue):
                # What was read may be half of what is being written now.
                looked = ("", "")
        self._note(directory, event.name, action, cookie=event.cookie, looked=looked)

    def _looked(self, path: Path) -> tuple[str, str]:
        try:
            if path.stat().st_size > LOOK_BYTES:
                return "", ""
        except OSError:
            return "", ""
        return self._look(path)

    def _unwatch(self, event: inotify_simple.Event) -> None:
        directory = self._watched.pop(event.wd)
        if event.mask & flags.MOVE_SELF and self._inotify is not None:
            with contextlib.suppress(OSError):
                self._inotify.rm_watch(event.wd)
        self._note(directory, "", "vanished")

    def _note(
        self,
        directory: Path,
        name: str,
        action: str,
        *,
        cookie: int = 0,
        looked: tuple[str, str] = ("", ""),
    ) -> None:
        this = (directory, name, action)
        if action == "modified" and this == self._last:
            return
        self._last = this
        if self._left <= 0:
            self._lose(f"more than {KEPT_EVENTS} events in the CDI directories")
            return
        self._left -= 1
        digest, problem = looked
        self._timeline.add(
            FileEvent(
                instance=self._instance,
                directory=str(directory),
                name=name,
                action=action,
                cookie=cookie,
                digest=digest,
                problem=problem,
            )
        )

    def _lose(self, why: str) -> None:
        if not self.problem:
            self.problem = why
            event = FileEvent(
                instance=self._instance, directory="", name="", action=LOST, problem=why
            )
            self._timeline.add(event)
        self._close()

    def _close(self) -> None:
        with self._lock:
            inotify, self._inotify = self._inotify, None
            self._watched.clear()
            if inotify is not None:
                inotify.close()


def _comes_again(
    event: inotify_simple.Event, queue: collections.deque[inotify_simple.Event]
) -> bool:
    return any((later.wd, later.name) == (event.wd, event.name) for later in queue)

"""SIGKILL at a chosen write of a call: what a driver has on disk then is what it finds again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import inotify_simple
from inotify_simple import flags

from pytest_dra.bench.instance import Instance
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.wire.answers import NodeReply

WRITES = flags.CREATE | flags.MODIFY | flags.MOVED_TO | flags.DELETE
"""A write operation: a file is made, written to, renamed into place or removed."""

LOOK_MS = 20
"""Longest sleep between two looks at whether the call has ended; each write wakes."""

LATE_MS = 50
"""How long writes after the answer are waited for: a driver that writes behind does so at once."""

DIRECTORIES = 1000
"""Directories that are watched: many times what a driver has."""


class CrashPoint:
    """Counts writes below the driver's data and CDI directories.

    Args:
        instance: whose driver is killed.

    Raises:
        UnsupportedEnvironment: the kernel has no room for a watch.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        places = instance.directories
        self._roots = (places.plugins_dir, places.cdi_dir, places.static_cdi_dir)

    def strike(self, number: int, call: Callable[[], NodeReply]) -> bool:
        """Make the call, and SIGKILL the driver at its ``number``-th write, counted from 1.

        Returns:
            False if the call made fewer writes; then the driver lives on.
        """
        try:
            inotify = inotify_simple.INotify(nonblocking=True)
        except OSError as error:
            raise UnsupportedEnvironment(
                f"the driver's directories cannot be watched: inotify: {error.strerror}",
                way_out="raise fs.inotify.max_user_instances",
            ) from error
        with contextlib.closing(inotify), ThreadPoolExecutor(1) as pool:
            watched: dict[int, Path] = {}
            for root in self._roots:
                _watch(inotify, root, watched)
            done = pool.submit(call)
            struck = self._count(inotify, watched, number, done)
            if struck:
                self._instance.kill()
            done.result()
        return struck

    def _count(
        self,
        inotify: inotify_simple.INotify,
        watched: dict[int, Path],
        number: int,
        done: Future[NodeReply],
    ) -> bool:
        left = number
        while True:
            over = done.done()
            events = inotify.read(timeout=LATE_MS if over else LOOK_MS)
            for event in events:
                left -= bool(event.mask & WRITES)
                if left <= 0:
                    return True
                if event.mask & flags.ISDIR and event.wd in watched:
                    _watch(inotify, watched[event.wd] / event.name, watched)
            if over and not events:
                return False


def _watch(inotify: inotify_simple.INotify, top: Path, watched: dict[int, Path]) -> None:
    """Watch a directory and all below it; links are not followed."""
    mask = WRITES | flags.ONLYDIR | flags.DONT_FOLLOW
    for directory, _, _ in os.walk(top):
        if len(watched) >= DIRECTORIES:
            return
        with contextlib.suppress(OSError):
            watched[inotify.add_watch(directory, mask)] = Path(directory)

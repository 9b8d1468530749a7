"""A driver's files of state: which they are, and what becomes of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.residue import Tree

GARBAGE = (b"damaged by pytest-dra " * 3)[:64]
"""What is written over a file of state."""

ROOT = "plugins"

Signature = tuple[int, int, int]
"""Inode, size and time of change of a file."""


class StateFiles:
    """The files below the driver's data directories as they are at one moment."""

    def __init__(self, bench: Bench) -> None:
        self._root = bench.instance.directories.plugins_dir
        self._declared = bench.profile.launch.state
        self._seen = self._look()

    def _look(self) -> Mapping[Path, Signature]:
        found = {}
        for label in Tree.of({ROOT: self._root}).sizes:
            path = self._root / label.removeprefix(f"{ROOT}/")
            try:
                status = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                found[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    def now(self) -> list[Path]:
        """The declared files (``launch.state``), else those that have come or changed since."""
        found = self._look()
        if self._declared:
            return [path for path in found if self._is_declared(path)]
        return [path for path, signature in found.items() if self._seen.get(path) != signature]

    def _is_declared(self, path: Path) -> bool:
        return any(path.match(name.lstrip("/")) for name in self._declared)


def damage(files: Iterable[Path]) -> list[str]:
    """Write garbage over the files that are still there; returns their names."""
    names = []
    for path in files:
        if path.is_file() and not path.is_symlink():
            path.write_bytes(GARBAGE)
            names.append(path.name)
    return names


def truncate(files: Iterable[Path]) -> list[str]:
    """Cut the files that are still there to half their size; returns their names."""
    names = []
    for path in files:
        if path.is_file() and not path.is_symlink():
            os.truncate(path, path.stat().st_size // 2)
            names.append(path.name)
    return names

"""What lies round a driver's own directories, for cases that try to make it leave them."""

from __future__ import annotations

import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.residue import DEPTH_LIMIT
from pytest_dra.bench.residue import ENTRY_LIMIT

WORD_BYTES: Final = 6
ENDINGS: Final = ("", ".json", ".yaml", ".sock", ".lock")
"""What a driver may add to a name to make a file's of it."""

LEVELS: Final = 3
"""Directories above the node's that are searched for files with a word of ours."""

DECOY: Final = b"of pytest-dra\n"


class Outside:
    """The files of a node that are none of the driver's; files of ours lie among them meanwhile.

    ``new`` is a word that no file has in its name, ``there`` one of which we have made files where
    ``../..`` leads from the driver's and the CDI directories.
    """

    def __init__(self, bench: Bench) -> None:
        node = bench.instance.directories
        name = bench.instance.driver_name
        self.new, self.there = (secrets.token_hex(WORD_BYTES) for _ in range(2))
        self._root = node.root
        self._skipped = {node.cdi_dir, node.static_cdi_dir, node.logs, node.root / "own"}
        if name:
            self._skipped.add(node.driver_dir(name))
        self._decoys = [
            directory / f"{self.there}{ending}"
            for directory in (node.root, node.plugins_dir)
            for ending in ENDINGS
        ]

    def __enter__(self) -> Outside:
        for path in self._decoys:
            path.write_bytes(DECOY)
        return self

    def __exit__(self, *_: object) -> None:
        for path in self._decoys:
            path.unlink(missing_ok=True)

    def look(self) -> Mapping[str, object]:
        """The paths with what tells a change of them: of sockets and directories only their kind.

        Above the node's directories those that have one of the words in their name.
        """
        found = dict(itertools.islice(self._below(self._root, DEPTH_LIMIT), ENTRY_LIMIT))
        for directory in list(self._root.parents)[:LEVELS]:
            for path in _entries(directory):
                if self.new in path.name or self.there in path.name:
                    found[str(path)] = _signature(path)
        return found

    def _below(self, directory: Path, depth: int) -> Iterator[tuple[str, object]]:
        for path in _entries(directory):
            if path in self._skipped:
                continue
            yield str(path.relative_to(self._root)), _signature(path)
            if depth > 0 and path.is_dir() and not path.is_symlink():
                yield from self._below(path, depth - 1)


def _entries(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as scan:
            return [Path(entry.path) for entry in itertools.islice(scan, ENTRY_LIMIT)]
    except OSError:
        return []


def _signature(path: Path) -> object:
    try:
        about = path.lstat()
    except OSError:
        return None
    kind = stat.S_IFMT(about.st_mode)
    return (kind, about.st_size, about.st_mtime_ns) if stat.S_ISREG(about.st_mode) else kind

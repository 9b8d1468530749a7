"""What a claim leaves on disk: the paths below the driver's directories before and after."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path

from pytest_dra.launch import NodeDirectories

ENTRY_LIMIT = 20_000
"""Paths looked at in one tree: a driver writes a handful, a hostile one as many as it can."""

DEPTH_LIMIT = 16
"""Folders below a root that are looked into."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tree:
    """All paths below some roots (as ``root-name/relative/path``) with their sizes in bytes."""

    sizes: Mapping[str, int]

    @classmethod
    def of(cls, roots: Mapping[str, Path], *, depth: int = DEPTH_LIMIT) -> Tree:
        """Look at each root now; links are listed and never followed, nor is a root that is one.

        ``depth``: folders below a root that are looked into.
        """
        sizes: dict[str, int] = {}
        for label, root in roots.items():
            if not root.is_symlink():
                _walk(root, label, sizes, depth)
        return cls(sizes)

    @classmethod
    def of_node(cls, directories: NodeDirectories) -> Tree:
        """What lies in the data directories of drivers and the CDI directories."""
        return cls.of(
            {
                "plugins": directories.plugins_dir,
                "cdi": directories.cdi_dir,
                "etc-cdi": directories.static_cdi_dir,
            }
        )

    def added_since(self, before: Tree) -> set[str]:
        """Paths that are here and were not there before."""
        return set(self.sizes) - set(before.sizes)

    def __or__(self, other: Tree) -> Tree:
        """The paths of both."""
        return Tree({**self.sizes, **other.sizes})

    def naming(self, words: Iterable[str]) -> set[str]:
        """Paths whose text contains one of ``words`` (claim uids)."""
        return {path for path in self.sizes if any(word in path for word in words)}


def _walk(directory: Path, label: str, sizes: dict[str, int], depth: int) -> None:
    try:
        with os.scandir(directory) as scan:
            entries = list(itertools.islice(scan, ENTRY_LIMIT - len(sizes)))
    except OSError:
        return
    for entry in sorted(entries, key=lambda entry: entry.name):
        if len(sizes) >= ENTRY_LIMIT:
            return
        path = f"{label}/{entry.name}"
        try:
            size = entry.stat(follow_symlinks=False).st_size
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError:
            continue
        sizes[path] = 0 if is_folder else size
        if is_folder and depth > 0:
            _walk(Path(entry.path), path, sizes, depth - 1)


def normalised(paths: Iterable[str], names: Mapping[str, str]) -> frozenset[str]:
    """Paths with what belongs to one claim (uid, name) replaced, so that claims can be compared.

    Args:
        paths: as :class:`Tree` has them.
        names: text to placeholder, e.g. ``{uid: "UID", name: "NAME"}``.
    """
    made = set()
    for path in paths:
        for text, placeholder in names.items():
            path = path.replace(text, placeholder)
        made.add(path)
    return frozenset(made)

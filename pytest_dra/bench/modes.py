"""The modes of what a driver has made in its data directories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.residue import Tree
from pytest_dra.checks.exposure import Found


def of_data(bench: Bench) -> list[Found]:
    """All paths below the kubelet's directory of plugins, relative to it, with their modes."""
    root = bench.instance.directories.plugins_dir
    made = []
    for label in Tree.of({"": root}).sizes:
        path = label.lstrip("/")
        try:
            made.append(Found(path, (root / path).lstat().st_mode))
        except OSError:
            continue
    return made


def kept_from_containers(bench: Bench, paths: Iterable[Path]) -> list[Path]:
    """Those that the edits of the last Prepare give to no container, whose users have to read what
    is mounted (as Kubernetes' helper has it for the metadata of devices)."""
    host = bench.last_preparation().host
    given = {bench.instance.place.outside(path) for path in host}
    return [path for path in paths if given.isdisjoint((path, *path.parents))]


def names_of(bench: Bench, paths: Iterable[Path]) -> list[str]:
    """Paths as :func:`of_data` names them."""
    root = bench.instance.directories.plugins_dir
    return [str(path.relative_to(root)) for path in paths if root in path.parents]

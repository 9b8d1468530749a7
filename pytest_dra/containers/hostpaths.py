"""What stands in a container for the volumes of its pod: private directories wherever possible."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_dra.launch import LaunchError
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.containerspec import Mount
from pytest_dra.launch.directories import empty

HARDWARE: Final = ("/dev", "/sys", "/proc")
"""What a driver sees of the machine; given as the pod asks for it."""

READABLE: Final = 0o644
"""Mode of the files of ConfigMaps and Secrets, as in a pod."""

ROOT: Final = "/"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A file or directory of this machine, and where it is in the container."""

    source: Path
    inside: str
    read_only: bool = False


class HostPaths:
    """See the module; of one node.

    Args:
        places: path of the node -> what is there on this machine; None: nothing of it.
        directories: of the node.
    """

    def __init__(self, places: Mapping[str, Path | None], directories: NodeDirectories) -> None:
        self._places = {inside: place for inside, place in places.items() if place is not None}
        self._directories = directories
        self._own: dict[str, Path] = {}

    def wipe(self) -> None:
        """Empty the directories that pods have had for themselves."""
        for directory in self._own.values():
            empty(directory)

    def binds(self, mount: Mount) -> Iterator[Bind]:
        """What is mounted for a volume.

        Raises:
            LaunchError: it cannot be.
        """
        if mount.host:
            yield from self._of_node(mount)
        elif mount.volume:
            source = self._mine(f"volume {mount.volume}") / mount.sub
            source.mkdir(parents=True, exist_ok=True)
            yield Bind(source=source, inside=mount.inside, read_only=mount.read_only)
        else:
            source = self._mine(f"files at {mount.inside}")
            for name, data in mount.files.items():
                _write(source / name, data)
            yield Bind(source=source / mount.sub, inside=mount.inside, read_only=True)

    def _of_node(self, mount: Mount) -> Iterator[Bind]:
        host = mount.host
        place = self._private(host)
        if place is not None:
            yield Bind(source=_made(place), inside=mount.inside, read_only=mount.read_only)
            return
        yield self._stand_in(mount)
        # A parent of directories that are ours shows those and nothing else.
        for path, ours in self._places.items():
            if host == ROOT and not Path(path).is_dir():
                continue
            if path.startswith(f"{host.rstrip(ROOT)}/"):
                inside = mount.inside.rstrip(ROOT) + path[len(host.rstrip(ROOT)) :]
                yield Bind(source=ours, inside=inside, read_only=mount.read_only)

    def _stand_in(self, mount: Mount) -> Bind:
        host = mount.host
        hardware = any(host == top or host.startswith(f"{top}/") for top in HARDWARE)
        seen = Path(host)
        if hardware and seen.exists():
            return Bind(source=seen, inside=mount.inside, read_only=mount.read_only)
        if host == ROOT or (mount.read_only and seen.exists()):
            return Bind(source=seen, inside=mount.inside, read_only=True)
        return Bind(source=self._mine(f"host {host}"), inside=mount.inside)

    def _private(self, host: str) -> Path | None:
        """What is ours at a path of the node, or below of which it is; None for what is not."""
        for path in sorted(self._places, key=len, reverse=True):
            for name in {path, os.path.realpath(path)}:
                if host == name or host.startswith(f"{name}/"):
                    return self._places[path] / host[len(name) :].lstrip("/")
        return None

    def _mine(self, key: str) -> Path:
        if key not in self._own:
            self._own[key] = self._directories.make_own()
        return self._own[key]


def _made(directory: Path) -> Path:
    """A directory that may have to be made; a link of the driver is not followed.

    Raises:
        LaunchError: it cannot be made, or leads elsewhere.
    """
    with suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
    if not directory.exists() or directory.parent.resolve() / directory.name != directory.resolve():
        raise LaunchError(f"{directory} is a link, or cannot be made: it cannot be mounted")
    return directory


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    path.chmod(READABLE)

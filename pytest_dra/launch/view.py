"""What a driver sees at which path, where that is not what the host has there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_dra.launch import cell
from pytest_dra.launch.directories import NodeDirectories
from pytest_dra.launch.error import LaunchError

KUBELET_DIR: Final = "/var/lib/kubelet"
REGISTRY_DIR: Final = "/var/lib/kubelet/plugins_registry"
PLUGINS_DIR: Final = "/var/lib/kubelet/plugins"
CDI_DIR: Final = "/var/run/cdi"
STATIC_CDI_DIR: Final = "/etc/cdi"
"""Where drivers, kubelets and container runtimes look by default."""

CELL_SCRIPT: Final = Path(cell.__file__)

NOTHING: Final = "nothing"
"""Name below the node's root of what does not exist; we never make it."""

LINKS: Final = 40
"""Links that are followed in one path, as in the kernel."""

CHECK_S: Final = 20.0
"""Longest trial: an interpreter's start and some hundred mounts on a loaded machine."""


class View:
    """See the module; of one node.

    Args:
        directories: of the node.
        places: absolute path inside -> what is there outside; None for what does not exist inside.
    """

    def __init__(self, directories: NodeDirectories, places: Mapping[str, Path | None]) -> None:
        self._directories = directories
        self._places = dict(places)
        # /var/run is a link to /run nearly everywhere, and both names are in use.
        self._names = {os.path.realpath(inside): inside for inside in self._places}
        self._names.update((inside, inside) for inside in self._places)

    @property
    def private(self) -> tuple[str, ...]:
        """The private paths as they are called inside, by both names where there are two."""
        return tuple(self._names)

    def outside(self, path: str | os.PathLike[str]) -> Path:
        """Where that lies outside which is at ``path`` inside, decided by name alone.

        ``..`` is resolved first, links of the driver are not. A path in ``/var/lib/kubelet`` that
        does not exist inside leads to one that does not exist outside, never to the host's. What
        is not private stays as it is.
        """
        name = absolute(os.fspath(path))
        if name is None:
            return Path(path)
        for known in sorted(self._names, key=len, reverse=True):
            if name == known or name.startswith(f"{known}/"):
                place = self._places[self._names[known]] or self._directories.root / NOTHING
                return place / name[len(known) :].lstrip("/")
        return Path(name)

    def reached(self, path: str | os.PathLike[str]) -> Path:
        """Where that lies outside which the driver reaches at ``path``, its links followed.

        ``path`` is one inside, or one outside in the node's directories. A link of the driver that
        leads out of the private paths leads to what does not exist: what is there is not its own.
        """
        inside = self._inside(os.fspath(path))
        if not inside.startswith("/") or "\0" in inside:
            return Path(path)
        current, left, links = "/", inside.split("/")[::-1], 0
        while left:
            part = left.pop()
            if part in ("", ".", ".."):
                current = str(Path(current).parent) if part == ".." else current
                continue
            place = self.outside(f"{current}/{part}")
            if not self._is_private(f"{current}/{part}") or not place.is_symlink():
                current = f"{current}/{part}"
                continue
            links += 1
            target = self._inside(_target(place))
            if links > LINKS or not target:
                return self._directories.root / NOTHING
            current = "/" if target.startswith("/") else current
            left += target.split("/")[::-1]
        if links and not self._is_private(current):
            return self._directories.root / NOTHING
        return self.outside(current)

    def _inside(self, path: str) -> str:
        """The name inside of a path in the node's directories; other paths as they are."""
        for inside, place in self._places.items():
            if place is not None and (path == str(place) or path.startswith(f"{place}/")):
                return inside + path[len(str(place)) :]
        return path

    def _is_private(self, inside: str) -> bool:
        name = absolute(inside)
        return name is not None and any(
            name == known or name.startswith(f"{known}/") for known in self._names
        )

    @contextmanager
    def read_only(self, inside: str, pids: Sequence[int]) -> Iterator[None]:
        """Jailed processes cannot write at one of the private paths; root neither.

        Those that have ended are left out. Files that are open stay so.

        Raises:
            LaunchError: the kernel refuses.
        """
        for pid in pids:
            _change(cell.READ_ONLY, inside, pid)
        try:
            yield
        except BaseException:
            # What goes wrong on the way back must not hide what has gone wrong before.
            with suppress(LaunchError):
                _change_all(cell.WRITABLE, inside, pids)
            raise
        _change_all(cell.WRITABLE, inside, pids)


def _change_all(how: str, inside: str, pids: Sequence[int]) -> None:
    """Change a mount for all of the processes; the first refusal is told when all were tried."""
    refused: LaunchError | None = None
    for pid in pids:
        try:
            _change(how, inside, pid)
        except LaunchError as error:
            refused = refused or error
    if refused is not None:
        raise refused


def absolute(path: str) -> str | None:
    """An absolute path without dots and double slashes; None for what is none."""
    if not path.startswith("/") or "\0" in path:
        return None
    return "/" + os.path.normpath(path).lstrip("/")


def _change(how: str, inside: str, pid: int) -> None:
    command = [sys.executable, "-I", "-S", str(CELL_SCRIPT), how, inside, str(pid)]
    try:
        done = subprocess.run(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CHECK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{inside} cannot be made {how}: {error}") from error
    # A process may end while it is looked at.
    if done.returncode and Path(f"/proc/{pid}").exists():
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("--dra-jail: ")
        raise LaunchError(f"{inside} cannot be made {how} for the driver: {said}")


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""

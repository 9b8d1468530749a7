"""The Unix sockets that a driver has made on its node."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from pytest_dra.bench.instance import Instance
from pytest_dra.bench.registration import Registration
from pytest_dra.bench.registration import accepts
from pytest_dra.kubelet.watcher import scan


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Socket:
    """A socket file; ``inode`` tells it from another one at the same path, 0 for none."""

    path: Path
    inode: int


def socket_at(path: Path) -> Socket:
    """What lies at the path now."""
    try:
        return Socket(path=path, inode=path.stat().st_ino)
    except OSError:
        return Socket(path=path, inode=0)


def sockets_of(instance: Instance) -> list[Path]:
    """Every socket in the registry and the data directories, within the bounds of a kubelet's look.

    Paths longer than any socket's can be are among them.
    """
    places = instance.directories
    found: set[Path] = set()
    for directory in (places.registry_dir, places.plugins_dir):
        found |= set(scan(directory, locate=instance.place.reached))
    return sorted(found)


def live_sockets(found: Registration, instance: Instance) -> list[Path]:
    """Those at which the running process accepts connections, its DRA endpoint among them."""
    every = {*sockets_of(instance), found.socket, found.endpoint()}
    return sorted(path for path in every if accepts(instance.place.reached(path)))


def length_of(path: Path) -> int:
    """Bytes of a socket's path."""
    return len(os.fsencode(path))

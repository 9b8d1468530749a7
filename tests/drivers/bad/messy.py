"""Works, but behaves badly: ``python -m tests.drivers.bad.messy WHAT [SWITCHES]``.

WHAT is a list with commas. stays: forks children that ignore SIGTERM, and ignores it itself; talks:
prints 100 MB; fills: makes thousands of files and folders, some without permissions; sockets:
leaves two dozen dead sockets in the registry; writes: writes a slice again and
again; bodies: sends bodies that are no slices.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from tests.drivers.bad.children import leave as leave_children
from tests.drivers.good.api import SLICES
from tests.drivers.good.api import Refused
from tests.drivers.good.options import read
from tests.drivers.good.publisher import Publisher
from tests.drivers.good.running import run

CHILDREN = 3
LINE = b"x" * 1023 + b"\n"
LINES = 100_000
FILES = 5000
SOCKETS = 25
DEEP = 40
WRITE_S = 0.5


def stay() -> None:
    """Children in sessions of their own, that outlive their parent."""
    leave_children(CHILDREN)


def talk() -> None:
    """100 MB on standard output."""
    for _ in range(LINES):
        os.write(1, LINE)


def fill(root: Path) -> None:
    """Many files, a deep tree, and a folder that nobody may look into."""
    root.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        (root / f"junk-{number}").touch()
    deep = root
    for _ in range(DEEP):
        deep = deep / "deeper"
    deep.mkdir(parents=True, exist_ok=True)
    locked = root / "locked"
    locked.mkdir(exist_ok=True)
    (locked / "file").touch()
    locked.chmod(0)


def leave_sockets(registry: Path) -> None:
    """Sockets that nobody listens on, a link to nowhere and a plain file."""
    for number in range(SOCKETS):
        path = registry / f"a-dead-{number}.sock"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
            made.bind(str(path))
    (registry / "a-file.sock").touch()
    nowhere = registry / "a-link.sock"
    nowhere.unlink(missing_ok=True)
    nowhere.symlink_to("/nowhere/at/all.sock")


class WritesAlways(Publisher):
    """Changes an attribute of its first slice twice a second."""

    count = 0

    def run(self, stopping: threading.Event) -> None:
        while not stopping.wait(WRITE_S):
            self.count += 1
            try:
                self.publish()
                first = self.wanted()[0]
                path = f"{SLICES}/{first['metadata']['name']}"
                devices = first["spec"]["devices"]
                devices[0]["attributes"]["count"] = {"int": self.count}
                body = {"spec": {"devices": devices}}
                self.api.request("PATCH", path, body, kind="merge-patch+json")
            except Refused:
                continue


class SendsNonsense(Publisher):
    """First sends what is no slice at all, then publishes as it should."""

    def run(self, stopping: threading.Event) -> None:
        bodies: list[Any] = [
            {"spec": "text"},
            {"spec": {"pool": 5, "driver": ["x"], "devices": ["a", 7]}},
            {"metadata": 1, "spec": {"devices": {"name": "x"}}},
            [],
            {},
        ]
        for body in bodies:
            try:
                self.api.request("POST", SLICES, body)
            except Refused:
                continue
        super().run(stopping)


PUBLISHERS: dict[str, type[Publisher]] = {"writes": WritesAlways, "bodies": SendsNonsense}


def main(what: set[str], switches: list[str]) -> None:
    """Be such a driver."""
    options = read(switches)
    if "stays" in what:
        stay()
    if "talks" in what:
        threading.Thread(target=talk, daemon=True).start()
    if "fills" in what:
        fill(options.driver_dir)
    if "sockets" in what:
        leave_sockets(options.registry_dir)
    publisher = next((PUBLISHERS[each] for each in what if each in PUBLISHERS), Publisher)
    run(switches, publisher_class=publisher, heeds_sigterm="stays" not in what)


if __name__ == "__main__":
    main(set(sys.argv[1].split(",")), sys.argv[2:])

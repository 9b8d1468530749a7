"""A driver with fixed paths: run as ``python prisoner.py [EXIT_CODE]``; reports in one JSON line.

It registers and writes CDI specs where kubelet and runtimes look by default, then waits for a
signal, or exits with EXIT_CODE at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

NAME = "jailed.example.com"
KUBELET = Path("/var/lib/kubelet")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def _listen(path: Path) -> socket.socket:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen()
    return made


def _append(path: Path) -> str:
    try:
        with path.open("a") as file:
            file.write("x")
    except OSError as error:
        return error.strerror or "?"
    return path.read_text()


def powers() -> list[Any]:
    """Users, groups and capabilities, and the signals that this process does not get."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}
    names = ("Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapInh", "SigBlk", "SigIgn")
    return [fields[name] for name in names]


def _look(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(place.iterdir()) if place.is_dir() else []:
        with contextlib.suppress(OSError):
            found[path.name] = str(path.readlink()) if path.is_symlink() else path.is_dir()
    return found


def main() -> None:
    sockets = [
        _listen(KUBELET / "plugins" / NAME / "dra.sock"),
        _listen(KUBELET / "plugins_registry" / f"{NAME}-reg.sock"),
    ]
    report = {
        "kubelet": _look(KUBELET),
        "specs": [
            _append(Path(f"{place}/{NAME}.json"))
            for place in ("/var/run/cdi", "/run/cdi", "/etc/cdi", os.environ["CDI_ROOT"])
        ],
        "refused": [_append(KUBELET / "x"), _append(BOOT_ID)],
        "boot_id": BOOT_ID.read_text(),
        "outside": _look(Path(os.environ["KUBELET_REGISTRAR_DIRECTORY_PATH"])),
        "powers": powers(),
        "pid": os.getpid(),
        "cwd": str(Path.cwd()),
    }
    if given := os.environ.get("EXTRA"):
        extra = Path(given)
        report["extra"] = {
            "above": _look(extra.parent),
            "inner": _look(extra.parent / "dir"),
            "written": _append(extra / "file"),
            "appended": _append(extra.parent / "dir" / "kept"),
            "new": _append(extra.parent / "new"),
        }
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    if len(sys.argv) > 1:
        sys.exit(int(sys.argv[1]))
    threading.Event().wait(300)
    del sockets


if __name__ == "__main__":
    main()

"""Makes a mess of the directories: ``python -m tests.drivers.bad.places WHAT [SWITCHES]``.

Before anything else, in the CDI directory: files (2,000 specs), sparse (a spec of 1 GB), nested
(100,000 levels of JSON and of YAML), aliases (aliases of aliases that mean 10^9 nodes), odd (a
FIFO, a socket, links to a device, in a circle and to ``/``). roots: links to ``/`` in the plugins
and registry directories as well, and a file with a line end and an escape sequence in its name.
With the first Prepare: removes (deletes the directories), locks (takes all permissions of them),
swaps (puts links to ``/proc`` in their places).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from pytest_dra.wire import Method
from tests.drivers.good.options import Options
from tests.drivers.good.options import read
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.running import run

FILES = 2_000
SPARSE = 1 << 30
LEVELS = 100_000
ALIASES = 9
WHAT = sys.argv[1] if len(sys.argv) > 1 else ""


def files(options: Options) -> None:
    """Thousands of good specs."""
    for number in range(FILES):
        spec = {
            "cdiVersion": "0.6.0",
            "kind": "odd.example.com/junk",
            "devices": [{"name": f"d{number}", "containerEdits": {"env": ["JUNK=1"]}}],
        }
        (options.cdi_dir / f"junk-{number}.json").write_text(json.dumps(spec), "utf-8")


def sparse(options: Options) -> None:
    """A gigabyte of nothing."""
    with (options.cdi_dir / "sparse.json").open("wb") as file:
        file.truncate(SPARSE)


def nested(options: Options) -> None:
    """Deeper than any stack."""
    (options.cdi_dir / "nested.json").write_text("[" * LEVELS + "]" * LEVELS, "utf-8")
    (options.cdi_dir / "nested.yaml").write_text("- " * LEVELS, "utf-8")


def aliases(options: Options) -> None:
    """A billion laughs."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for number in range(1, ALIASES):
        inner = ", ".join([f"*a{number - 1}"] * 10)
        lines.append(f"a{number}: &a{number} [{inner}]")
    (options.cdi_dir / "aliases.yaml").write_text("\n".join(lines), "utf-8")


def odd(options: Options) -> None:
    """Files that are no files."""
    place = options.cdi_dir
    os.mkfifo(place / "fifo.json")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place / "socket.json"))
    (place / "zero.json").symlink_to("/dev/zero")
    (place / "circle.json").symlink_to("circle.json")
    (place / "root.json").symlink_to("/")
    (place / "root").symlink_to("/")
    (place / "deep.json").mkdir()


def roots(options: Options) -> None:
    """Links out of all directories, and a name that a terminal would obey."""
    odd(options)
    options.driver_dir.mkdir(parents=True, exist_ok=True)
    for place in (options.driver_dir, options.plugins_dir, options.registry_dir):
        (place / "root").symlink_to("/")
        (place / "root-reg.sock").symlink_to("/")
    (options.driver_dir / "\x1b[2J\nowned \udcff").touch()


BEFORE: dict[str, Callable[[Options], None]] = {
    "files": files,
    "sparse": sparse,
    "nested": nested,
    "aliases": aliases,
    "odd": odd,
    "roots": roots,
}


def places(options: Options) -> list[Path]:
    """The directories that the bench has given us."""
    return [options.cdi_dir, options.registry_dir, options.plugins_dir]


def removes(options: Options) -> None:
    """The directories are gone."""
    for place in places(options):
        shutil.rmtree(place, ignore_errors=True)


def locks(options: Options) -> None:
    """Nobody but root may look into the directories."""
    for place in [options.driver_dir, *places(options), options.plugins_dir.parent]:
        place.chmod(0)


def swaps(options: Options) -> None:
    """Links to a folder of others in their places; not to /, where we could write."""
    removes(options)
    for place in places(options):
        place.symlink_to("/proc")


LATER: dict[str, Callable[[Options], None]] = {"removes": removes, "locks": locks, "swaps": swaps}


class Spoils(Plugin):
    """Answers its first Prepare, and then does it."""

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        answer = super().prepare(method, request, context)
        if request.claims and WHAT in LATER:
            with contextlib.suppress(OSError):
                LATER[WHAT](self.options)
        return answer


if __name__ == "__main__":
    if WHAT in BEFORE:
        with contextlib.suppress(FileExistsError):
            BEFORE[WHAT](read(sys.argv[2:]))
    run(sys.argv[2:], plugin_class=Spoils)

"""The end of a kind cluster whose creation may still be under way in the container engine.

``python -m pytest_dra.clusters.kindending NAME DELETE [ARGUMENT...]``: runs the deletion until a
container that an engine was making meanwhile cannot come any more.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pytest_dra.clusters.kindrecords import KindRecords
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll

TIMES: Final = 3
"""Deletions: what comes between the first and the last of them goes as well."""

PAUSE_S: Final = 4.0
"""Between two: an engine makes a container in less, on a machine with much to do."""

DELETE_S: Final = 35.0
"""Longest deletion: all of them are below the keeper's limit for a command."""


def ending(name: str, delete: Sequence[str]) -> list[str]:
    """The command that runs the deletion of a cluster as often as it takes."""
    return [sys.executable, "-m", __name__, name, *delete]


def main(arguments: Sequence[str], *, pause_s: float = PAUSE_S) -> int:
    """See the module; the status of the last deletion."""
    name, *delete = arguments
    status = 1
    for number in range(TIMES):
        if number:
            poll(lambda: False, Deadline.after(pause_s), every_s=pause_s)
        with suppress(subprocess.TimeoutExpired, OSError):
            status = subprocess.run(
                delete,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=DELETE_S,
                check=False,
            ).returncode
    if not status:
        KindRecords().forget(name)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the processes of a driver use, as the kernel shows it."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_dra.bench.bench import Bench
from pytest_dra.checks.growth import Usage
from pytest_dra.launch.keeper import descendants
from pytest_dra.launch.keeper import process_table
from pytest_dra.spec import UnsupportedEnvironment

PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def usage(bench: Bench, *, cycles: int) -> Usage:
    """What is used now, by the driver's processes and those that they have started.

    Raises:
        UnsupportedEnvironment: the kernel does not show it.
    """
    pids, table = bench.instance.driver.pids, process_table()
    every = {*pids}.union(*(descendants(pid, table) for pid in pids))
    try:
        return Usage(
            cycles=cycles,
            descriptors=sum(_entries(f"/proc/{pid}/fd") for pid in every),
            threads=sum(_entries(f"/proc/{pid}/task") for pid in every),
            files=len(bench.instance.tree().sizes),
            memory=sum(_resident_kib(pid) for pid in every),
        )
    except (OSError, ValueError, IndexError) as error:
        raise UnsupportedEnvironment(
            f"what the driver uses is not shown: {error}", way_out="run as the driver's user"
        ) from error


def _resident_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * PAGE_KIB


def _entries(directory: str) -> int:
    return sum(1 for _ in Path(directory).iterdir())

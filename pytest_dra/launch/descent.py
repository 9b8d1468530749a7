"""Which processes came of which: read from /proc by the keeper, standard library only."""

from __future__ import annotations

import os
from pathlib import Path

ENVIRONMENT_MAX = 16 << 20
"""Bytes of an environment that are read; it is a megabyte or two at most (ARG_MAX)."""


def process_table() -> dict[int, tuple[int, int, int]]:
    """Pid -> parent, process group, session of every process that can be seen."""
    table: dict[int, tuple[int, int, int]] = {}
    with os.scandir("/proc") as entries:
        names = [entry.name for entry in entries if entry.name.isdigit()]
    for name in names:
        try:
            # The command may contain blanks and brackets; the fields come after the last one.
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            table[int(name)] = (int(fields[1]), int(fields[2]), int(fields[3]))
        except (OSError, IndexError, ValueError):
            continue
    return table


def descendants(root: int, table: dict[int, tuple[int, int, int]]) -> set[int]:
    """All processes below ``root``, without itself."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    pending = [root]
    while pending:
        for pid in children.get(pending.pop(), []):
            if pid not in found:
                found.add(pid)
                pending.append(pid)
    return found


def marked(pid: int, mark: bytes) -> bool:
    """True if the process was started with our marker in its environment."""
    try:
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            return mark in file.read(ENVIRONMENT_MAX).split(b"\0")
    except OSError:
        return False


def has_ended(pid: int) -> bool:
    """True if there is no such process, or its parent has only to collect it.

    A process that is ending has no environment any more by which it could be found.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return stat.rpartition(b")")[2].split()[0] in (b"Z", b"X")

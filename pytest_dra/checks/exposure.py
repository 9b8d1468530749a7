"""Who else on the node gets at a driver's sockets and files of state."""

from __future__ import annotations

import dataclasses
import stat
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Final

from pytest_dra.spec import Violation

ENTER: Final = stat.S_IXOTH
CHANGE: Final = stat.S_IWOTH
ANY: Final = stat.S_IRWXO


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A path of the driver and its ``st_mode``."""

    path: str
    mode: int


def must_be_closed(found: Collection[Found], *, state: Collection[str]) -> None:
    """Other users can neither call the driver nor read or change what it remembers.

    What lies in a directory that they cannot enter is closed, whatever its own mode.

    Args:
        found: all paths of the driver's own directories, relative, these directories included.
        state: those of them that are files of state.
    """
    modes = {each.path: each.mode for each in found}
    for each in sorted(found, key=lambda each: each.path):
        if all(modes.get(str(above), ENTER) & ENTER for above in PurePosixPath(each.path).parents):
            problem = _open(each.mode, is_state=each.path in state)
            if problem:
                raise Violation(
                    f"{each.path} with mode {stat.S_IMODE(each.mode):04o}",
                    got=f"every user of the node can {problem}",
                    want="closed to other users, itself or a directory of the driver's above it",
                )


def _open(mode: int, *, is_state: bool) -> str:
    for test, bits, problem in _PROBLEMS:
        if test(mode) and mode & bits == bits:
            return problem
    return "read or change this file of state" if is_state and mode & ANY else ""


_PROBLEMS: Final = (
    (stat.S_ISDIR, CHANGE | ENTER, "replace what lies in this directory"),
    (stat.S_ISSOCK, CHANGE, "call this socket"),
    (stat.S_ISREG, CHANGE, "change this file"),
)

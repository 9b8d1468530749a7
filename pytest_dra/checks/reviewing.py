"""What the edits of a claim run or show of the host, and whether somebody has looked at it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from pytest_dra.checks.edits import is_of_host
from pytest_dra.spec import Json
from pytest_dra.spec import Violation

KERNEL: Final = ("/dev", "/proc", "/sys")
"""What lies there is the kernel's; device nodes are what CDI is for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """A hook (``name`` says when it runs) or a mount (no name) with its path on the host."""

    path: str
    name: str = ""

    def __str__(self) -> str:
        return f"hook {self.name} {self.path}" if self.name else f"mount of {self.path}"


def pieces(edits: Json, *, own: Collection[str]) -> Iterator[Piece]:
    """The hooks of merged edits, and the mounts from outside of kernel and driver directories.

    Args:
        edits: as a runtime applies them.
        own: the driver's directories, as it calls them.
    """
    for hook in edits.get("hooks", ()):
        yield Piece(str(hook.get("path", "")), name=str(hook.get("hookName", "")))
    for mount in edits.get("mounts", ()):
        path = str(mount.get("hostPath", ""))
        if is_of_host(mount) and not any(_within(path, each) for each in (*KERNEL, *own)):
            yield Piece(path)


def all_must_be_declared(found: Iterable[Piece], *, declared: Collection[str]) -> None:
    """Each piece is declared: a hook by its path, a mount by its path or one above it."""
    for piece in found:
        if not any(_is_covered(piece, each) for each in declared):
            raise Violation(
                "the container edits of a claim",
                got=f"{piece}, which the profile does not declare",
                want="each hook and each mount of the host listed in injection.review, by its path",
            )


def _is_covered(piece: Piece, what: str) -> bool:
    return piece.path == what if piece.name else _within(piece.path, what)


def _within(path: str, directory: str) -> bool:
    inner, outer = PurePosixPath(path), PurePosixPath(directory)
    return ".." not in inner.parts and (inner == outer or outer in inner.parents)

"""Two instances of a driver on one node."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_dra.spec import Json
from pytest_dra.spec import Violation

Inodes = Mapping[str, int]
"""Inode by path of a socket; 0 where there is none."""


def sockets_must_be_untouched(before: Inodes, after: Inodes, *, during: str) -> None:
    """The sockets of the running instance are the files that they were."""
    for path, inode in before.items():
        now = after.get(path, 0)
        if now != inode:
            raise Violation(
                f"socket {path} of the running instance after {during}",
                got="another socket" if now else "no file",
                want="left alone",
            )


def sockets_must_be_apart(first: Sequence[str], second: Sequence[str]) -> None:
    """No path of one instance is one of the other's."""
    for path in second:
        if path in first:
            raise Violation(
                "sockets of an instance with another pod uid",
                got=f"{path}, which is the running instance's",
                want="a registration socket and an endpoint of its own",
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What has to stay of a slice: which object it is, and the generation of its pool."""

    uid: str
    generation: int


def kept_of(published: Iterable[Json]) -> dict[str, Kept]:
    """By name of the slice."""
    return {
        item["metadata"]["name"]: Kept(
            uid=item["metadata"]["uid"], generation=item["spec"]["pool"].get("generation", 0)
        )
        for item in published
    }


def slices_must_stay(before: Mapping[str, Kept], after: Mapping[str, Kept], *, during: str) -> None:
    """The slices are the objects that they were, of the same generation."""
    for name, old in sorted(before.items()):
        new = after.get(name)
        if new != old:
            raise Violation(
                f"ResourceSlice {name} after {during}",
                got=_difference(old, new),
                want="the same object, of the same generation",
            )


def _difference(old: Kept, new: Kept | None) -> str:
    if new is None:
        return "deleted"
    if new.uid != old.uid:
        return "deleted and created again"
    return f"generation {new.generation} instead of {old.generation}"

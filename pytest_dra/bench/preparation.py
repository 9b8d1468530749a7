"""A Prepare call, with all that shows what its CDI ids would do to a container."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import stat
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_dra import cdi
from pytest_dra.checks import cdi_specs
from pytest_dra.checks.edits import FileKind
from pytest_dra.checks.edits import HostPath
from pytest_dra.checks.edits import host_paths
from pytest_dra.spec import Json
from pytest_dra.wire.answers import NodeReply

if TYPE_CHECKING:
    from pytest_dra.bench.claims import Claim

HOST_PATHS = 1000
"""Host paths that are looked at after one call: many times what a claim of 32 devices has."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """A Prepare call with the CDI directories as they were when its answer arrived.

    ``modes`` are the permission bits of the spec files and of the directories, ``host`` is what
    the paths in the edits of the returned ids led to. ``began`` and ``ended`` are places on the
    timeline: what the call made happen lies between them.
    """

    claims: tuple[Claim, ...]
    reply: NodeReply
    registry: cdi.Registry
    disturbed: bool
    modes: Mapping[Path, int]
    host: Mapping[str, HostPath]
    began: int
    ended: int

    def ids(self) -> Iterator[tuple[Claim, list[str]]]:
        """Each claim of the call with the CDI ids that it got."""
        for claim in self.claims:
            yield claim, cdi_specs.ids_of(self.reply, claim.uid)

    def edits(self) -> Iterator[tuple[Claim, Json]]:
        """Each claim with the edits of its ids; one that has none or of which one does not
        resolve is left out."""
        for claim, ids in self.ids():
            edits = cdi_specs.edits_of(self.registry, ids)
            if edits:
                yield claim, edits

    def files(self) -> list[Path]:
        """The spec files that the returned ids resolve to."""
        devices = self.registry.devices
        found = [devices[id].path for _, ids in self.ids() for id in ids if id in devices]
        return list(dict.fromkeys(found))


def modes_of(registry: cdi.Registry) -> Mapping[Path, int]:
    """Permission bits of the spec files and their directories; what has gone is left out."""
    found = {}
    for path in (*registry.directories, *(file.path for file in registry.files)):
        with contextlib.suppress(OSError, ValueError):
            found[path] = stat.S_IMODE(path.stat().st_mode)
    return MappingProxyType(found)


def host_of(edits: Iterable[Json], outside: Callable[[str], Path] = Path) -> Mapping[str, HostPath]:
    """What the host paths of edits lead to, at most ``HOST_PATHS`` of them.

    ``outside`` says where a path of the driver lies for us.
    """
    paths = dict.fromkeys(path for each in edits for path in host_paths(each))
    chosen = itertools.islice(paths, HOST_PATHS)
    return MappingProxyType({path: _host_path(outside(path)) for path in chosen})


def _host_path(path: Path) -> HostPath:
    return HostPath(_kind(path, follow=False), _kind(path, follow=True))


def _kind(path: Path, *, follow: bool) -> FileKind:
    try:
        mode = path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):
        return FileKind.MISSING
    return next((kind for test, kind in _KINDS if test(mode)), FileKind.OTHER)


_KINDS = (
    (stat.S_ISREG, FileKind.FILE),
    (stat.S_ISDIR, FileKind.DIRECTORY),
    (stat.S_ISLNK, FileKind.LINK),
    (stat.S_ISBLK, FileKind.BLOCK),
    (stat.S_ISCHR, FileKind.CHARACTER),
)

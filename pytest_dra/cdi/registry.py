"""All spec files of a list of directories, and which device comes from which of them."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from pytest_dra.cdi.decoding import decode_spec
from pytest_dra.cdi.errors import CRASH
from pytest_dra.cdi.errors import CdiError
from pytest_dra.cdi.errors import UnresolvedError
from pytest_dra.cdi.errors import shown
from pytest_dra.cdi.files import digest
from pytest_dra.cdi.files import list_directory
from pytest_dra.cdi.files import read_file
from pytest_dra.cdi.injection import Injection
from pytest_dra.cdi.injection import merge_edits
from pytest_dra.cdi.library import Library
from pytest_dra.cdi.library import library_of
from pytest_dra.cdi.validation import check_spec
from pytest_dra.cdi.validation import minimum_version
from pytest_dra.spec import Json

DEFAULT_DIRECTORIES = (Path("/etc/cdi"), Path("/var/run/cdi"))
"""Where runtimes look, lowest priority first. Source: CDI SPEC.md, containerd's defaults."""

REMEMBERED = 3_000
"""Texts of specs that are not decoded again: directories are read at each call of a driver, and
what lies there is mostly what lay there before."""

REMEMBERED_BYTES = 8 * 1024
"""Longest such text."""


@dataclasses.dataclass(frozen=True)
class SpecFile:
    """One file that the library reads, refused or not.

    ``errors`` are sentences, ``reasons`` one stable word for each of them. ``devices`` maps short
    names to containerEdits, ``edits`` are the global ones, ``raw`` is the decoded spec with
    canonical keys (None when the text does not parse), ``minimum`` the lowest cdiVersion that
    the library demands for its fields, ``digest`` the SHA-256 of its bytes (empty when it could
    not be read).
    """

    path: Path
    directory: Path
    priority: int
    errors: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    kind: str = ""
    version: str = ""
    devices: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    edits: Json = dataclasses.field(default_factory=dict)
    raw: Json | None = None
    minimum: str = ""
    digest: str = ""

    @property
    def crashes(self) -> bool:
        """Whether the file ends the process of a runtime that reads it."""
        return CRASH in self.reasons


@dataclasses.dataclass(frozen=True)
class Registry:
    """What a runtime knows after reading its spec directories.

    ``directories`` go from lowest to highest priority; ``files`` are in reading order, broken
    ones included; ``others`` have extensions that nobody reads. ``devices`` maps resolvable
    qualified names to their files, ``conflicts`` names to the files of one directory that define
    them together. ``problems`` says what was wrong with whole directories.
    """

    directories: tuple[Path, ...]
    files: tuple[SpecFile, ...]
    others: tuple[Path, ...]
    devices: Mapping[str, SpecFile]
    conflicts: Mapping[str, tuple[Path, ...]]
    problems: tuple[str, ...] = ()

    def resolve(self, ids: Sequence[str]) -> Injection:
        """The merged edits for ``ids`` in their order.

        The global edits of a file go before those of its first device. Raises
        :class:`UnresolvedError` with all unknown ids; then nothing is injected.
        """
        missing = tuple(name for name in ids if name not in self.devices)
        if missing:
            raise UnresolvedError(missing)
        blocks: list[Json] = []
        seen: set[int] = set()
        for name in ids:
            file = self.devices[name]
            if id(file) not in seen:
                seen.add(id(file))
                blocks.append(file.edits)
            blocks.append(file.devices[name.partition("=")[2]])
        return Injection(edits=merge_edits(blocks))


def load(directories: Sequence[Path], *, library: str = Library.V1_1_0.value) -> Registry:
    """Read all spec files below ``directories``, lowest priority first.

    Never raises for what lies there: errors go to the files. ``library`` is 1.1.0 or 1.1.2;
    another one is a ValueError.
    """
    version = library_of(library)
    cleaned = tuple(Path(os.path.normpath(directory)) for directory in directories)
    files: list[SpecFile] = []
    others: list[Path] = []
    problems: list[str] = []
    for priority, directory in enumerate(cleaned):
        listing = list_directory(directory, library=version)
        others += listing.others
        problems += listing.problems
        if listing.stop:
            break
        files += [_load_file(path, directory, priority, version) for path in listing.specs]
    return _registry(cleaned, files, others, problems)


def load_file(path: Path, *, library: str = Library.V1_1_0.value) -> SpecFile:
    """Read one spec file as :func:`load` does, without regard to its neighbours."""
    return _load_file(path, path.parent, 0, library_of(library))


def _load_file(path: Path, directory: Path, priority: int, library: Library) -> SpecFile:
    try:
        data = read_file(path)
    except CdiError as error:
        return SpecFile(path, directory, priority, (error.message,), (error.reason,))
    understand = _understood if len(data) <= REMEMBERED_BYTES else _understood.__wrapped__
    return dataclasses.replace(
        understand(data, library), path=path, directory=directory, priority=priority
    )


@functools.lru_cache(maxsize=REMEMBERED)
def _understood(data: bytes, library: Library) -> SpecFile:
    """What a file with these bytes says, wherever it lies."""
    file = SpecFile(path=Path(), directory=Path(), priority=0, digest=digest(data))
    try:
        spec = decode_spec(data, library=library)
        file = dataclasses.replace(
            file, raw=spec, kind=spec.get("kind", ""), version=spec.get("cdiVersion", "")
        )
        file = dataclasses.replace(file, minimum=_minimum(spec, library))
        check_spec(spec, library=library)
    except CdiError as error:
        return dataclasses.replace(file, errors=(error.message,), reasons=(error.reason,))
    devices = {item["name"]: item.get("containerEdits", {}) for item in spec["devices"]}
    return dataclasses.replace(
        file, devices=MappingProxyType(devices), edits=spec.get("containerEdits", {})
    )


def _minimum(spec: Json, library: Library) -> str:
    try:
        return minimum_version(spec, library=library)
    except CdiError:
        return ""


def _registry(
    directories: tuple[Path, ...], files: list[SpecFile], others: list[Path], problems: list[str]
) -> Registry:
    owners: dict[str, int] = {}
    conflicts: dict[str, list[int]] = {}
    for index, file in enumerate(files):
        for short in file.devices:
            name = f"{file.kind}={short}"
            old = owners.get(name)
            if old is None or files[old].priority < file.priority:
                owners[name] = index
            else:
                together = conflicts.setdefault(name, [])
                together += [item for item in (old, index) if item not in together]
    marked = [_marked(file, index, files, conflicts) for index, file in enumerate(files)]
    devices = {name: marked[index] for name, index in owners.items() if name not in conflicts}
    return Registry(
        directories=directories,
        files=tuple(marked),
        others=tuple(others),
        devices=MappingProxyType(devices),
        conflicts=MappingProxyType(
            {name: tuple(files[i].path for i in items) for name, items in conflicts.items()}
        ),
        problems=tuple(problems),
    )


def _marked(
    file: SpecFile, index: int, files: list[SpecFile], conflicts: Mapping[str, list[int]]
) -> SpecFile:
    mine = {name: items for name, items in conflicts.items() if index in items}
    if not mine:
        return file
    errors = []
    for name, items in sorted(mine.items()):
        paths = ", ".join(str(files[item].path) for item in items if item != index)
        errors.append(
            f"device {shown(name)}: also defined by {paths} of the same directory, so it cannot be"
            " resolved; want one file to define it"
        )
    return dataclasses.replace(
        file, errors=file.errors + tuple(errors), reasons=file.reasons + ("conflict",) * len(errors)
    )

"""CDI specs on disk and the ids that a driver returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from pytest_dra import cdi
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.wire.answers import NodeReply

TOO_LOW, NOT_A_FILE = "version-too-low", "not-a-file"
OTHERS_REASONS = frozenset({"conflict", TOO_LOW, cdi.CRASH, NOT_A_FILE})
"""Reasons of the CDI reader that have a case of their own: CDI-005, CDI-014 and CDI-016."""

WRITABLE = 0o022
"""Permission bits that let others than the owner write."""

_CRASHING = {
    cdi.Library.V1_1_0: ("deviceNodes", "mounts", "hooks", "netDevices"),
    cdi.Library.V1_1_2: ("deviceNodes", "mounts"),
}
"""Lists of a spec in which a null entry ends the process that reads it."""


def ids_of(reply: NodeReply, uid: str) -> list[str]:
    """All CDI ids that a Prepare answer has for one claim, in its order."""
    return [id for device in reply.devices_of(uid) for id in device.cdi_device_ids]


def files_must_load(
    registry: cdi.Registry, *, before: Collection[Path], proof: Sequence[int] = ()
) -> None:
    """Each spec file that was not there before the driver is valid.

    What other cases judge is left to them: see :data:`OTHERS_REASONS`.
    """
    for file in registry.files:
        wrong = [
            error
            for error, reason in zip(file.errors, file.reasons, strict=True)
            if reason not in OTHERS_REASONS
        ]
        if file.path not in before and wrong:
            raise Violation(
                f"CDI spec {file.path.name}",
                got="; ".join(wrong),
                want="a file that the CDI library loads",
                proof=tuple(proof),
            )


def ids_must_resolve(
    registry: cdi.Registry, ids: Sequence[str], *, what: str, proof: Sequence[int] = ()
) -> None:
    """Each id is well formed and names exactly one device of the directories, as they are now."""
    for id in ids:
        try:
            cdi.parse_qualified_name(id)
        except cdi.CdiError as error:
            raise Violation(
                f"CDI id of {what}", got=id, want=f"vendor/class=name: {error}", proof=tuple(proof)
            ) from error
        if id in registry.devices:
            continue
        files = [file.path.name for file in registry.files]
        double = registry.conflicts.get(id)
        reason = (
            f"defined by {', '.join(path.name for path in double)}"
            if double
            else f"not in {files or 'the empty directory'}"
        )
        raise Violation(
            f"CDI id of {what}",
            got=f"{id}: {reason}",
            want="exactly one device in the CDI directories when the answer arrives",
            proof=tuple(proof),
        )


def no_device_may_be_double(registry: cdi.Registry, *, proof: Sequence[int] = ()) -> None:
    """No two files of one directory define the same qualified device."""
    for name, files in sorted(registry.conflicts.items()):
        raise Violation(
            f"CDI device {name}",
            got=f"defined in {', '.join(sorted(path.name for path in files))}",
            want="one definition in a directory (the runtime drops both)",
            proof=tuple(proof),
        )


def no_file_may_crash(
    registry: cdi.Registry, *, library: cdi.Library, proof: Sequence[int] = ()
) -> None:
    """No spec ends or blocks the runtime that reads it, whatever else may be wrong with it."""
    for file in registry.files:
        problem = _crash(file, library)
        if problem:
            raise Violation(
                f"CDI spec {file.path.name}", got=problem[0], want=problem[1], proof=tuple(proof)
            )


def _crash(file: cdi.SpecFile, library: cdi.Library) -> tuple[str, str] | None:
    dies = f"{library.runtime} dies of the file, and again at each start until it is gone"
    if NOT_A_FILE in file.reasons:
        return "a FIFO or device", f"a regular file: {library.runtime} hangs when it reads this"
    raw = file.raw or {}
    blocks = [raw, *(device or {} for device in raw.get("devices") or ())]
    for block in blocks:
        edits = block.get("containerEdits") or {}
        for field in _CRASHING[library]:
            if None in (edits.get(field) or ()):
                return f"a null entry in {field}", f"none: {dies}"
    parts = file.kind.split("/", 1)
    short = next((part for part in parts if len(part) == 1), "")
    if short and len(parts) == 2 and library is cdi.Library.V1_1_0:
        return f"kind {file.kind!r}", f"vendor and class of two letters or more: {dies}"
    return None


def versions_must_cover_the_fields(
    registry: cdi.Registry, *, library: cdi.Library, proof: Sequence[int] = ()
) -> None:
    """Each spec declares at least the cdiVersion that its fields and names need."""
    for file in registry.files:
        if TOO_LOW in file.reasons:
            raise Violation(
                f"cdiVersion of CDI spec {file.path.name}",
                got=file.version,
                want=f"{file.minimum} or higher for the fields and names in use: "
                f"{library.runtime} refuses the file",
                proof=tuple(proof),
            )


def versions_must_be_the_lowest(registries: Iterable[cdi.Registry]) -> None:
    """No spec declares a newer cdiVersion than any spec of its vendor needs.

    One version for all specs of a driver is fine: a runtime has to know it in any case. Files that
    do not load are other cases' matter.
    """
    files = [file for found in registries for file in found.files if not file.errors]
    needed: dict[str, str] = {}
    for file in files:
        vendor = _vendor(file)
        needed[vendor] = max(needed.get(vendor, ""), file.minimum, key=_numbers)
    for file in files:
        lowest = needed[_vendor(file)]
        if _numbers(file.version) > _numbers(lowest):
            raise Violation(
                f"cdiVersion of CDI spec {file.path.name}",
                got=file.version,
                want=f"{lowest}: no field or name of a spec of vendor {_vendor(file)} needs a "
                "newer one, which older runtimes refuse",
            )


def _vendor(file: cdi.SpecFile) -> str:
    return file.kind.partition("/")[0]


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.removeprefix("v").split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


def only_the_owner_may_write(modes: Mapping[Path, int], *, proof: Sequence[int] = ()) -> None:
    """Neither group nor others may write specs or their directories."""
    for path, mode in sorted(modes.items()):
        if mode & WRITABLE:
            raise Violation(
                f"mode of {path.name}",
                got=f"{mode:04o}",
                want="not writable for group and others: a runtime executes specs as root",
                proof=tuple(proof),
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NamedEdits:
    """What an id stood for when it was returned for a claim; ``serial`` is that of the answer."""

    id: str
    claim: str
    edits: Json
    serial: int


def names_must_keep_their_edits(seen: Iterable[NamedEdits]) -> None:
    """No id that was returned for one claim is returned for another one with other edits."""
    first: dict[str, NamedEdits] = {}
    for each in seen:
        before = first.setdefault(each.id, each)
        if before.claim != each.claim and before.edits != each.edits:
            raise Violation(
                f"CDI id {each.id} of {each.claim}",
                got=each.edits,
                want=f"another id, or the edits that it stood for before, for {before.claim} "
                f"(a runtime may still have those): {before.edits}",
                proof=(before.serial, each.serial),
            )


def edits_of(registry: cdi.Registry, ids: Sequence[str]) -> Json | None:
    """The edits that a runtime would apply for these ids; None if one does not resolve."""
    try:
        return registry.resolve(ids).edits
    except cdi.CdiError:
        return None


def edits_must_be_the_same(before: Json | None, after: Json | None, *, what: str) -> None:
    """The edits behind a claim's ids have not changed."""
    if before != after:
        raise Violation(f"container edits of {what}", got=after, want=f"unchanged: {before}")

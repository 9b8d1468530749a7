"""CDI specs on disk and the ids that a driver returns."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
from pathlib import Path

from pytest_dra import cdi
from pytest_dra.spec import Json
from pytest_dra.spec import Violation
from pytest_dra.wire.answers import NodeReply

OTHERS_REASONS = frozenset({"conflict", "version-too-low", "crash"})
"""Reasons of the CDI reader that have a case of their own: CDI-005, CDI-014 and CDI-016."""


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

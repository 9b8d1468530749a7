"""How spec files come into the CDI directories, from what the kernel told of them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from pytest_dra import cdi
from pytest_dra.spec import Violation
from pytest_dra.timeline import Entry
from pytest_dra.timeline import FileEvent

Events = Sequence[Entry[FileEvent]]
"""Events of one node's CDI directories, oldest first."""

_NEW_TEXT = frozenset({"created", "modified", "moved-to"})
"""Actions that can give a file another text."""

_WHOLE = frozenset({"written", "moved-to"})
"""Actions after which a spec is expected to be complete."""

_EMPTY = hashlib.sha256(b"").hexdigest()
"""Digest of a file without content."""

_GONE = frozenset({"deleted", "moved-from"})

_LOOKED_AGAIN = frozenset({*_GONE, "modified", "appeared"})
"""Actions after which library 1.1.0 reads all directories again; ``modified`` is recorded of specs
only, as it must be. Source: the recordings of tests/upstream, kind ``watch``."""

_NEW_NAMES = frozenset({"created", "moved-to"})


def path_of(event: FileEvent) -> Path:
    """The file of an event, the directory itself where it has no name."""
    return Path(event.directory) / event.name


def specs_must_be_whole(events: Events) -> None:
    """No spec is incomplete when it was closed after writing, or renamed to its place.

    A spec that never becomes right is no matter of its arrival. A file that something was written
    to and that is empty when it is looked at has met the beginning of its next writing meanwhile:
    that is not judged, since it depends on how quickly one looks.
    """
    broken: dict[Path, Entry[FileEvent]] = {}
    filled: set[Path] = set()
    for entry in events:
        event, path = entry.event, path_of(entry.event)
        if event.action in _GONE:
            broken.pop(path, None)
        if event.action == "modified":
            filled.add(path)
        if event.action not in _WHOLE or not event.digest:
            continue
        overtaken = event.digest == _EMPTY and path in filled
        filled.discard(path)
        if overtaken:
            continue
        if event.problem:
            broken.setdefault(path, entry)
        elif path in broken:
            first = broken[path]
            raise Violation(
                f"CDI spec {event.name} as it was first {first.event.action}",
                got=f"{first.event.problem}; complete {entry.at - first.at:.3f} s later",
                want="a file that is complete under its final name: written under another one "
                "(without .json or .yaml) and renamed, or at once",
                proof=(first.serial, entry.serial),
            )


def specs_must_be_noticed(
    events: Events, paths: Collection[Path], *, library: cdi.Library, proof: Sequence[int] = ()
) -> None:
    """The newest text of each file came in a way that a running container runtime notices.

    Args:
        events: everything up to the answer.
        paths: the files that the answer rests on; one of which nothing was seen is let pass.
        library: that of the runtime; 1.1.2 notices every event.
        proof: further serials on the timeline.
    """
    if library is cdi.Library.V1_1_2:
        return
    for path in paths:
        own = [n for n, e in enumerate(events) if path_of(e.event) == path]
        coming = [n for n in own if events[n].event.action in _NEW_TEXT]
        if not coming or _is_noticed(events, coming[-1]):
            continue
        entry = events[coming[-1]]
        how = "renamed from another directory" if entry.event.cookie else "made as a link"
        raise Violation(
            f"CDI spec {path.name}",
            got=how,
            want="written in place, or renamed from a name in the same directory: "
            f"{library.runtime} does not notice it otherwise until another spec is written",
            proof=(entry.serial, *proof),
        )


def _is_noticed(events: Events, index: int) -> bool:
    cookie = events[index].event.cookie
    return any(entry.event.action in _LOOKED_AGAIN for entry in events[index:]) or any(
        cookie and entry.event.action == "moved-from" and entry.event.cookie == cookie
        for entry in events[:index]
    )


def texts_must_not_change_unseen(
    events: Events,
    *,
    before: Mapping[Path, str],
    after: Mapping[Path, str],
    library: cdi.Library,
    proof: Sequence[int] = (),
) -> None:
    """No spec has another text than before without an event in its directory.

    Args:
        events: everything between the two looks.
        before: digest by file at the first look; empty digests are not compared.
        after: the same at the second.
        library: that of the runtime, for the message.
        proof: serials on the timeline.
    """
    seen = {path_of(entry.event) for entry in events}
    for path, digest in sorted(after.items()):
        old = before.get(path, "")
        if old and digest and old != digest and not {path, path.parent} & seen:
            raise Violation(
                f"CDI spec {path.name}",
                got="another text than before, without an event in its directory (the target of a "
                "link was written?)",
                want="written in place, or renamed from a name in the same directory: "
                f"{library.runtime} keeps the old text otherwise",
                proof=tuple(proof),
            )


def removed(events: Events) -> frozenset[Path]:
    """The files that were removed or renamed at some time, but for what the suite emptied."""
    return frozenset(
        path_of(entry.event)
        for entry in events
        if entry.event.action in _GONE and not entry.disturbed
    )


def claims_specs_must_not_be_static(
    events: Events,
    *,
    static: Path,
    removed: Collection[Path],
    uids: Collection[str],
    proof: Sequence[int] = (),
) -> None:
    """No spec of a claim was made in the directory for specs that survive a reboot.

    Args:
        events: those between the call and its answer.
        static: that directory.
        removed: files that the driver has removed again (:func:`removed`); others are a claim's
            only if they are named after it.
        uids: the claims of the call.
        proof: serials on the timeline.
    """
    for entry in events:
        path = path_of(entry.event)
        if path.parent != static or entry.event.action not in _NEW_NAMES:
            continue
        if path in removed or any(uid in path.name for uid in uids):
            raise Violation(
                f"CDI spec {path.name} of a claim",
                got="made in the static directory (/etc/cdi)",
                want="made in the run-time directory (/var/run/cdi), which a reboot empties",
                proof=(entry.serial, *proof),
            )

"""Whether names make a driver leave its directories."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from typing import Final

from pytest_dra.spec import Violation

LONG: Final = 300
"""Characters of a name that no file can have: 255 bytes is the limit of file systems."""

SHOWN: Final = 40
"""Characters of a name that are shown."""


SHOWN_PATHS: Final = 3


def odd_names(new: str, there: str) -> tuple[str, ...]:
    """Names with parts of paths, a line break, or too many characters.

    Args:
        new: a word that no file has in its name.
        there: another one, of which there are files where a path could lead.
    """
    return (f"../../{new}", f"../../{there}", f"{new}/b", f"{new}\n", "a" * LONG)


def nothing_outside_may_change(
    before: Mapping[str, object], after: Mapping[str, object], *, what: str
) -> None:
    """No path outside the driver's directories was made, changed or removed.

    Args:
        before: the paths with what tells a change of them.
        after: the same after the call.
        what: how a message calls the call.
    """
    for word, paths in (
        ("made", set(after) - set(before)),
        ("removed", set(before) - set(after)),
        ("changed", {path for path, seen in after.items() if before.get(path, seen) != seen}),
    ):
        if paths:
            listed = ", ".join(sorted(paths)[:SHOWN_PATHS])
            raise Violation(
                what,
                got=f"{word} outside the driver's directories: {listed}",
                want="an error or OK, and nothing touched outside data and CDI directories",
            )


def nothing_may_be_made_outside(made: Collection[str]) -> None:
    """A driver makes nothing but in its own directories.

    Args:
        made: paths elsewhere, as the driver calls them.
    """
    if made:
        raise Violation(
            "the file system of the driver after three claims",
            got=f"made outside its directories: {', '.join(sorted(made)[:SHOWN_PATHS])}",
            want="writes only in plugin, registry, CDI and temporary directories, and in "
            "launch.writable",
        )


def nothing_may_be_made_abroad(found: Mapping[str, str]) -> None:
    """A driver that is not jailed makes nothing in the host's own places.

    Args:
        found: paths with the case in which each was first seen ("" for none).
    """
    if found:
        shown = [f"{path} ({case})" if case else path for path, case in sorted(found.items())]
        raise Violation(
            "the host's directories beside the driver",
            got=f"made outside its directories: {', '.join(shown[:SHOWN_PATHS])}",
            want="writes only in the directories that it was told (placeholders), or --dra-jail "
            "for a driver whose paths are fixed",
        )


def in_short(name: str) -> str:
    """A name as a message shows it."""
    return repr(name if len(name) <= SHOWN else f"{name[:SHOWN]}... ({len(name)} characters)")

"""What Prepare and Unprepare leave on disk."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from pytest_dra.spec import Violation

COUNTER_BYTES = 64
"""A state file may grow by this much for counters and times (IDEM-002)."""


SPEC_SUFFIXES = (".json", ".yaml")
"""Endings of files that a container runtime reads as CDI specs."""


def apart_from_unfinished(left: Collection[str], *, made: Collection[str]) -> frozenset[str]:
    """Without files that a crash has left unfinished, which nobody reads.

    A temporary file (as the Go CDI library makes them beside the spec) tells nobody anything, with
    the claim in its name or not. What is a spec is kept, and what Prepare makes when nothing
    disturbs it.

    Args:
        left: paths with uid and name of the claim replaced by placeholders.
        made: what a plain Prepare of this driver makes, in the same form.
    """
    return frozenset(
        path
        for path in left
        if path in made or (path.startswith("cdi/") and path.endswith(SPEC_SUFFIXES))
    )


def nothing_may_be_left(
    left: Collection[str], *, expected: Collection[str], what: str, after: str = "Unprepare"
) -> None:
    """No path is left beyond what is expected.

    Args:
        left: paths with uid and name of the claim replaced by placeholders.
        expected: what a plain cycle of this driver leaves, in the same form.
        what: how a message calls the claim.
        after: what should have left nothing.
    """
    more = sorted(set(left) - set(expected))
    if more:
        raise Violation(
            f"after {after} of {what}",
            got=f"left: {', '.join(more[:5])}",
            want="nothing that Prepare made",
        )


def damage_must_be_named(output: str, *, files: Collection[str]) -> None:
    """A driver that does not serve with damaged files of state says which one is damaged.

    Args:
        output: the end of the driver's output.
        files: names of the damaged files.
    """
    if not any(name in output for name in files):
        last = (output.strip().splitlines() or ["(no output)"])[-1]
        raise Violation(
            f"start with damaged {', '.join(sorted(files)[:3])}",
            got=f"the driver does not register; the end of its output: {last}",
            want="registered, or output that names the file",
        )


def sizes_must_be_the_same(
    before: Mapping[str, int], after: Mapping[str, int], *, what: str
) -> None:
    """Repetition has added no file and let none grow by more than counters need."""
    added = sorted(set(after) - set(before))
    if added:
        raise Violation(what, got=f"new files: {', '.join(added[:5])}", want="the same files")
    for path, size in sorted(after.items()):
        if size > before[path] + COUNTER_BYTES:
            raise Violation(
                f"{path} {what}", got=f"{size} bytes", want=f"{before[path]} bytes, as at first"
            )


def damage_must_not_block(error: str, *, output: str, files: Collection[str]) -> None:
    """Unprepare works with damaged files of state, or it is said which file is damaged.

    Args:
        error: of the Unprepare; empty if it worked.
        output: the end of the driver's output, if it has ended by itself.
        files: names of the damaged files.
    """
    if error and not any(name in error or name in output for name in files):
        raise Violation(
            f"Unprepare with damaged {', '.join(sorted(files)[:3])}",
            got=error,
            want="OK, or an error (of a driver that has ended: output) that names the file",
        )

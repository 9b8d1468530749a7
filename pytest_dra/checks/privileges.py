"""Edits that only administrators' access may have."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dra.spec import Json
from pytest_dra.spec import Violation

_PATHS = {"deviceNodes": ("path", "hostPath"), "mounts": ("containerPath", "hostPath")}


def marked(edits: Json, marker: str) -> list[str]:
    """The variables, device nodes and mounts of container edits that the marker is part of."""
    return [text for text in _texts(edits) if marker in text]


def _texts(edits: Json) -> Iterator[str]:
    for variable in edits.get("env") or ():
        yield str(variable).partition("=")[0]
    for name, fields in _PATHS.items():
        for entry in edits.get(name) or ():
            yield from (str(entry[field]) for field in fields if entry.get(field))


def must_be_privileged(edits: Json | None, *, marker: str, what: str) -> None:
    """The edits of a claim with admin access have the marker."""
    if not marked(edits or {}, marker):
        raise Violation(
            f"container edits of {what}",
            got=f"nothing marked {marker!r}",
            want="the privileged edits (injection.privileged) for a result with adminAccess",
        )


def must_not_be_privileged(edits: Json | None, *, marker: str, what: str) -> None:
    """The edits of any other claim do not."""
    found = marked(edits or {}, marker)
    if found:
        raise Violation(
            f"container edits of {what}",
            got=found[0],
            want=f"nothing marked {marker!r} (injection.privileged) without adminAccess",
        )


def setting_must_be(seen: str, *, wanted: str, others: dict[str, str], what: str) -> None:
    """What is in force is what the applicable configuration alone would set.

    Args:
        seen: what is in force.
        wanted: what is, where only the applicable configuration is given.
        others: the same for the other configurations, by whose they are.
        what: how a message calls the claim.
    """
    if seen != wanted:
        whose = next((name for name, text in others.items() if text == seen), "")
        raise Violation(
            f"setting of {what}",
            got=f"that of {whose}" if whose else seen[:_SHOWN],
            want="that of the chosen alternative's own configuration, which comes last",
        )


_SHOWN = 200
"""Characters of a setting that a finding shows."""

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

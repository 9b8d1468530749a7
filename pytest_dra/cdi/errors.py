"""What can be wrong with CDI text, names and requests."""

from __future__ import annotations

from pathlib import Path

CRASH = "crash"
"""The reason of an error that does not refuse the file but ends the process that reads it."""


MAXIMUM_SHOWN = 80
"""Characters of a driver's text in an error, which must stay readable whatever it is."""


def shown(text: str) -> str:
    """A text of a driver as an error shows it: quoted, control characters escaped, cut."""
    return repr(text[:MAXIMUM_SHOWN]) + ("..." if len(text) > MAXIMUM_SHOWN else "")


class CdiError(ValueError):
    """A CDI name, file or request that a runtime refuses.

    ``reason`` is a stable word for programs (``version-too-low``, ``env``, ``syntax`` ...),
    ``message`` the sentence for people, ``path`` the file if there is one.
    """

    def __init__(self, message: str, *, reason: str, path: Path | None = None) -> None:
        self.message = message
        self.reason = reason
        self.path = path
        super().__init__(f"{path}: {message}" if path else message)


class UnresolvedError(CdiError):
    """Requested devices that no spec file defines; ``missing`` keeps the order of the request."""

    def __init__(self, missing: tuple[str, ...]) -> None:
        self.missing = missing
        super().__init__(
            f"unresolvable CDI devices {', '.join(map(shown, missing))}", reason="unresolved"
        )

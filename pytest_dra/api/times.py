"""Times as the API writes them: in UTC, to the second."""

from __future__ import annotations

import datetime
from typing import Final

FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
"""How the API writes a Time."""


def stamp(moment: datetime.datetime | None = None) -> str:
    """A moment, or now, as a Time of the API."""
    return (moment or now()).strftime(FORMAT)


def now() -> datetime.datetime:
    """This moment, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc)


def moment_of(text: object) -> datetime.datetime | None:
    """A Time of the API as a moment, None if it is none."""
    try:
        found = datetime.datetime.strptime(str(text), FORMAT)
    except ValueError:
        return None
    return found.replace(tzinfo=datetime.timezone.utc)

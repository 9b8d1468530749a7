"""A driver's writes of ResourceSlices, as slices."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.timeline import Entry

PATCH = "patch"
WRITES = frozenset({"create", "update", PATCH})
"""Verbs that bring a slice to the API server."""

DELETIONS = frozenset({"delete", "deletecollection"})
"""Verbs that take slices away from it."""

REFUSED = 300
"""HTTP status codes from here on are no success."""

UNDECODABLE = 400
"""HTTP status of a body that is no ResourceSlice; one against the API's rules has 422."""


def slices_of(writes: Iterable[Entry[ApiRequest]]) -> list[Json]:
    """The slices of the writes, before defaulting and gate dropping, in their order.

    A patch is no slice: what the server made of it stands in its place, and a refused one has none.
    What the server could not even decode is left out too.
    """
    made = (slice_of(entry.event) for entry in writes)
    return [item for item in made if item is not None]


def slice_of(event: ApiRequest) -> Json | None:
    """The slice of one write; None where :func:`slices_of` leaves it out."""
    if event.verb == PATCH:
        return event.answer if event.code < REFUSED else None
    return event.body if event.code != UNDECODABLE else None

"""Requests on the timeline whose bodies are kept as bytes, and decoded when somebody looks.

Decoded bodies are most of what a long run keeps, and the garbage collector walks through all of
it again and again; bytes cost it nothing.
"""

from __future__ import annotations

import dataclasses

from pytest_dra.embedded import negotiation
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest


@dataclasses.dataclass(frozen=True, slots=True)
class Unread:
    """A JSON body that was understood once, and need not be kept decoded."""

    text: bytes

    def read(self) -> Json:
        """The body as the client sent it."""
        return negotiation.read_json(self.text).sent


class RecordedRequest(ApiRequest):
    """An :class:`ApiRequest` like any other; its ``body`` is decoded at the first look."""

    __slots__ = ("_kept",)

    _kept: Json | Unread | None

    @property
    def body(self) -> Json | None:
        """The object as the client sent it."""
        kept = self._kept
        if isinstance(kept, Unread):
            kept = kept.read()
            object.__setattr__(self, "_kept", kept)
        return kept

    @body.setter
    def body(self, kept: Json | Unread | None) -> None:
        object.__setattr__(self, "_kept", kept)


# reports name events by their class, and this one is no kind of its own
RecordedRequest.__name__ = RecordedRequest.__qualname__ = ApiRequest.__name__

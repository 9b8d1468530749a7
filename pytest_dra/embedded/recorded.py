"""Requests on the timeline that are kept as bytes and states, and decoded when somebody looks.

Decoded objects are most of what a long run keeps, and the garbage collector walks through all of
it again and again; bytes cost it nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final
from typing import Protocol
from typing import cast

from pytest_dra.embedded import negotiation
from pytest_dra.embedded.routing import Route
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest


class Lazy(Protocol):
    """What can be decoded when it is looked at."""

    def read(self) -> Json:
        """The object."""


SMALL: Final = 1024
"""Bytes of a body below which compressing it gains nothing."""

FASTEST: Final = 1
"""Level of compression: what it takes is a twentieth of a create's time."""


class Unread:
    """A JSON body that was understood once, and need not be kept decoded."""

    __slots__ = ("_packed", "_text")

    def __init__(self, text: bytes) -> None:
        self._packed = len(text) > SMALL
        self._text = zlib.compress(text, FASTEST) if self._packed else text

    def read(self) -> Json:
        """The body as the client sent it."""
        text = zlib.decompress(self._text) if self._packed else self._text
        return negotiation.read_json(text).sent


class RecordedRequest(ApiRequest):
    """An :class:`ApiRequest` like any other, but what is bulky is decoded at a first look."""

    __slots__ = ("_answered", "_kept")

    _kept: Json | Lazy | None
    _answered: Json | Lazy | None

    @property
    def body(self) -> Json | None:
        """The object as the client sent it."""
        kept = _read(self._kept)
        object.__setattr__(self, "_kept", kept)
        return kept

    @body.setter
    def body(self, kept: Json | Lazy | None) -> None:
        object.__setattr__(self, "_kept", kept)

    @property
    def answer(self) -> Json | None:
        """The object as it was answered."""
        answered = _read(self._answered)
        object.__setattr__(self, "_answered", answered)
        return answered

    @answer.setter
    def answer(self, answered: Json | Lazy | None) -> None:
        object.__setattr__(self, "_answered", answered)


def entry(
    route: Route,
    *,
    identity: str,
    verb: str,
    query: str,
    headers: Mapping[str, str],
    body: Json | Lazy | None,
    code: int,
    answer: Json | Lazy | None,
    duration_s: float,
) -> RecordedRequest:
    """What the timeline says of a request; body and answer are decoded when they are looked at."""
    return RecordedRequest(
        identity=identity,
        verb=verb,
        group=route.group,
        version=route.version,
        resource=route.plural,
        namespace=route.namespace or "",
        name=route.name,
        subresource=route.subresource,
        query=query,
        user_agent=headers.get("User-Agent", "")[:AGENT_MAX],
        body=cast("Json | None", body),
        code=code,
        answer=cast("Json | None", answer),
        duration_s=duration_s,
    )


AGENT_MAX: Final = 512
"""Characters of a User-Agent that are recorded."""


def _read(kept: Json | Lazy | None) -> Json | None:
    return kept if kept is None or isinstance(kept, dict) else kept.read()


# reports name events by their class, and this one is no kind of its own
RecordedRequest.__name__ = RecordedRequest.__qualname__ = ApiRequest.__name__

"""HTTP/2 as it goes by in one direction: read from a copy of the bytes, and answered by nobody."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

from hpack import Decoder
from hpack import HPACKError

from tests.upstream.kubelet_plugin import MESSAGE_HEADER_BYTES

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client sends before its first frame."""

HEADER_BYTES: Final = 9
_LENGTH: Final = slice(0, 3)
_STREAM: Final = slice(5, 9)
_TYPE, _FLAGS = 3, 4
"""Parts of a frame's header."""

DATA, HEADERS, RESET, GOAWAY, CONTINUATION = 0, 1, 3, 7, 9
"""Types of frames that say something of calls."""

END_STREAM, END_HEADERS, PADDED, PRIORITY = 0x1, 0x4, 0x8, 0x20
PRIORITY_BYTES: Final = 5
"""Flags, and what the last of them adds."""

STREAM_MAX: Final = 0x7FFFFFFF


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Something that went by on a stream; 0 is the connection.

    ``headers`` of a request, an answer, or its end; ``messages`` that are complete; ``ended``: this
    direction has said all of the stream; ``reset``; ``goaway``: nothing new is taken any more.
    """

    stream: int
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    messages: tuple[bytes, ...] = ()
    ended: bool = False
    reset: bool = False
    goaway: bool = False


class Direction:
    """See the module; ``client`` for what the one who has connected says."""

    def __init__(self, *, client: bool) -> None:
        self.client = client
        self._rest = b""
        self._preface = client
        self._decoder = Decoder()
        self._block = b""
        self._ends = False
        self._messages: dict[int, bytes] = {}

    def take(self, data: bytes) -> Iterator[Seen]:
        """What is complete with these bytes. Raises ValueError for what is no HTTP/2."""
        self._rest += data
        if self._preface:
            if len(self._rest) < len(PREFACE):
                return
            if not self._rest.startswith(PREFACE):
                raise ValueError("no HTTP/2")
            self._rest, self._preface = self._rest[len(PREFACE) :], False
        while len(self._rest) >= HEADER_BYTES:
            length = int.from_bytes(self._rest[_LENGTH], "big")
            if len(self._rest) < HEADER_BYTES + length:
                return
            head, body = self._rest[:HEADER_BYTES], self._rest[HEADER_BYTES:][:length]
            self._rest = self._rest[HEADER_BYTES + length :]
            stream = int.from_bytes(head[_STREAM], "big") & STREAM_MAX
            yield from self._frame(head[_TYPE], head[_FLAGS], stream, body)

    def _frame(self, kind: int, flags: int, stream: int, body: bytes) -> Iterator[Seen]:
        if kind in (DATA, HEADERS) and flags & PADDED:
            body = body[1 : len(body) - body[0]]
        if kind == HEADERS:
            self._block = body[PRIORITY_BYTES:] if flags & PRIORITY else body
            self._ends = bool(flags & END_STREAM)
        elif kind == CONTINUATION:
            self._block += body
        if kind in (HEADERS, CONTINUATION) and flags & END_HEADERS:
            yield Seen(stream=stream, headers=self._headers(), ended=self._ends)
        elif kind == DATA:
            messages = tuple(self._complete(stream, body))
            yield Seen(stream=stream, messages=messages, ended=bool(flags & END_STREAM))
        elif kind == RESET:
            yield Seen(stream=stream, reset=True)
        elif kind == GOAWAY:
            yield Seen(stream=0, goaway=True)

    def _headers(self) -> dict[str, str]:
        try:
            return {str(name): str(value) for name, value in self._decoder.decode(self._block)}
        except HPACKError as error:
            raise ValueError(f"headers: {error}") from error

    def _complete(self, stream: int, body: bytes) -> Iterator[bytes]:
        rest = self._messages.get(stream, b"") + body
        while len(rest) >= MESSAGE_HEADER_BYTES:
            size = int.from_bytes(rest[1:MESSAGE_HEADER_BYTES], "big")
            if len(rest) < MESSAGE_HEADER_BYTES + size:
                break
            yield rest[MESSAGE_HEADER_BYTES:][:size]
            rest = rest[MESSAGE_HEADER_BYTES + size :]
        self._messages[stream] = rest

"""A scripted plugin that sees connections, headers and resets, for comparing with recordings.

HTTP/2 by the h2 package, in one thread of its own; what a call is answered with, and when, is
decided by whoever owns the :class:`Socket`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import socket as sockets
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

BACKLOG = 64
"""Connections that wait to be accepted."""

THREAD_S = 20.0
"""Longest wait for the thread of the sockets."""

MESSAGE_HEADER_BYTES = 5
"""What gRPC puts before a message: one byte for compression, four for the length."""

UNITS_S = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
"""Units of the grpc-timeout header."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call as it arrived."""

    connection: Connection
    stream: int
    path: str
    authority: str
    timeout_s: float | None
    body: bytes

    @property
    def method(self) -> str:
        """Name of the method, without its service."""
        return self.path.rsplit("/", 1)[-1]


class Loop:
    """The thread in which all sockets of a plugin live."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="plugin", daemon=True)
        self._thread.start()

    def run(self, act: Callable[[], Any]) -> Any:
        """Run ``act`` there and wait for it; what it returns may be a coroutine."""

        async def main() -> Any:
            made = act()
            return await made if asyncio.iscoroutine(made) else made

        return asyncio.run_coroutine_threadsafe(main(), self._loop).result(THREAD_S)

    def stop(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(THREAD_S)
        self._loop.close()


class Socket:
    """One socket of a plugin, through all the files and listeners that it has in its life.

    Args:
        path: of the socket file.
        saw: is told ``open``, ``close`` (by the kubelet) and ``cancelled`` with the method's name.
        called: is told of each call; whoever it is answers with :meth:`answer` and its like.
    """

    def __init__(
        self,
        loop: Loop,
        path: Path,
        *,
        saw: Callable[..., None],
        called: Callable[[Call], None],
    ) -> None:
        self.path = path
        self.saw = saw
        self.called = called
        self.connections: set[Connection] = set()
        self._loop = loop
        self._bound: sockets.socket | None = None
        self._server: asyncio.Server | None = None

    def bind(self, *, via_rename: bool = False) -> None:
        """Make the socket file; nobody listens yet. A file of that name makes room."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        first = self.path.with_name("." + self.path.name) if via_rename else self.path
        first.unlink(missing_ok=True)
        bound = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        # Through the directory's descriptor, because the path may be too long for an address.
        directory = os.open(first.parent, os.O_RDONLY | os.O_DIRECTORY)
        bound.bind(f"/proc/self/fd/{directory}/{first.name}")
        os.close(directory)
        if via_rename:
            bound.listen(BACKLOG)
            first.rename(self.path)
        self._bound = bound

    def listen_mutely(self) -> None:
        """Let the backlog accept, and say nothing."""
        assert self._bound is not None
        self._bound.listen(BACKLOG)

    def listen(self) -> None:
        """Serve what was bound."""
        bound, self._bound = self._bound, None
        assert bound is not None
        bound.listen(BACKLOG)

        async def serve() -> asyncio.Server:
            loop = asyncio.get_running_loop()
            return await loop.create_unix_server(lambda: Connection(self), sock=bound)

        self._server = self._loop.run(serve)

    def close(self) -> None:
        """Close listener and connections, as the end of a process does. The file stays."""
        server, self._server = self._server, None
        bound, self._bound = self._bound, None

        def close() -> None:
            if server is not None:
                server.close()
            self._abort()

        self._loop.run(close)
        if bound is not None:
            bound.close()

    def drop(self) -> None:
        """Close the connections and go on listening."""
        self._loop.run(self._abort)

    def _abort(self) -> None:
        for connection in list(self.connections):
            connection.end()

    def open_calls(self, *, but: str) -> int:
        """How many calls run, those of one method left out."""
        return sum(each.open_calls(but=but) for each in tuple(self.connections))

    def is_open(self, call: Call) -> bool:
        """True as long as the call can be answered."""
        return call.connection.has(call.stream)

    def answer(self, call: Call, body: bytes) -> None:
        """The one message of a unary call."""
        self._loop.run(lambda: call.connection.send(call.stream, body, ends=True))

    def say(self, call: Call, body: bytes) -> None:
        """One message of a stream."""
        self._loop.run(lambda: call.connection.send(call.stream, body, ends=False))

    def fail(self, call: Call, code: int, message: str = "") -> None:
        """End a call, or a stream that has begun, with a gRPC code."""
        self._loop.run(lambda: call.connection.finish(call.stream, code, message))

    def cut(self, call: Call) -> None:
        """Close the connection instead of an answer."""
        self._loop.run(call.connection.end)


class Connection(asyncio.Protocol):
    """One connection of the kubelet."""

    def __init__(self, owner: Socket) -> None:
        self._owner = owner
        self._begun: set[int] = set()
        self._headers: dict[int, dict[str, str]] = {}
        self._bodies: dict[int, bytes] = {}
        self._open: dict[int, str] = {}
        self._ended = False
        config = h2.config.H2Configuration(
            client_side=False, header_encoding="utf-8", validate_inbound_headers=False
        )
        self._h2 = h2.connection.H2Connection(config)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A kubelet has connected."""
        self._transport: Any = transport
        self._owner.connections.add(self)
        self._owner.saw("open")
        self._h2.initiate_connection()
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """One side has closed."""
        self._owner.connections.discard(self)
        if not self._ended:
            self._owner.saw("close")
        self._open.clear()

    def data_received(self, data: bytes) -> None:
        """Frames of the kubelet."""
        try:
            events = self._h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.end()
            return
        for event in events:
            self._take(event)
        self._flush()

    def _take(self, event: Any) -> None:
        if isinstance(event, h2.events.RequestReceived):
            pairs: Any = event.headers
            self._headers[event.stream_id] = dict(pairs)
            self._bodies[event.stream_id] = b""
        elif isinstance(event, h2.events.DataReceived):
            self._bodies[event.stream_id] += event.data
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._call(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            method = self._open.pop(event.stream_id, None)
            if method is not None:
                self._owner.saw("cancelled", method)

    def _call(self, stream: int) -> None:
        headers = self._headers.pop(stream)
        timeout = headers.get("grpc-timeout")
        call = Call(
            connection=self,
            stream=stream,
            path=headers[":path"],
            authority=headers.get(":authority", ""),
            timeout_s=int(timeout[:-1]) * UNITS_S[timeout[-1]] if timeout else None,
            body=self._bodies.pop(stream)[MESSAGE_HEADER_BYTES:],
        )
        self._open[stream] = call.method
        self._owner.called(call)

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def open_calls(self, *, but: str) -> int:
        """How many calls run, those of one method left out."""
        return sum(method != but for method in tuple(self._open.values()))

    def has(self, stream: int) -> bool:
        """True for a call that runs."""
        return stream in self._open

    def send(self, stream: int, body: bytes, *, ends: bool) -> None:
        """A message, far smaller than any window; nothing if the call is over."""
        if stream not in self._open:
            return
        self._begin(stream)
        self._h2.send_data(stream, b"\0" + struct.pack(">I", len(body)) + body)
        if ends:
            self.finish(stream, 0)
        self._flush()

    def finish(self, stream: int, code: int, message: str = "") -> None:
        """The trailers; nothing if the call is over."""
        if self._open.pop(stream, None) is None:
            return
        self._begin(stream)
        trailers = [("grpc-status", str(code))]
        if message:
            trailers.append(("grpc-message", quote(message)))
        self._h2.send_headers(stream, trailers, end_stream=True)
        self._flush()

    def _begin(self, stream: int) -> None:
        if stream not in self._begun:
            self._begun.add(stream)
            headers = [(":status", "200"), ("content-type", "application/grpc")]
            self._h2.send_headers(stream, headers)

    def end(self) -> None:
        """Close it from this side."""
        self._ended = True
        self._transport.abort()

"""One gRPC connection to a Unix socket, dialled the way the kubelet dials."""

from __future__ import annotations

import atexit
import dataclasses
import os
import threading
import time
import weakref
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf.message import DecodeError

from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.wire import Method

MAX_MESSAGE_BYTES = 16 << 20
"""Longest answer that is taken, above gRPC's own 4 MiB: the kubelet sets this for its other plugin
sockets, and 256 claims of 128 devices fit in. A longer one ends in RESOURCE_EXHAUSTED."""

SOCKET_PATH_LIMIT = 107
"""Longest path of a Unix socket in bytes (``sun_path`` less its final NUL, unix(7))."""

AUTHORITY_SAFE = "!$&'()*+,;=:[]@"
"""What gRPC leaves unescaped in an authority besides letters, digits and ``-._~`` (RFC 3986
sub-delims and the brackets of an address)."""

WATCH_S = 0.05
"""Longest single wait for a change of state. A change ends it at once, but closing does not, so
this bounds how long a close takes."""

NEVER_MS = 3_600_000
"""gRPC's own pause between two attempts: longer than any channel lives, because the pauses are
ours."""

DEADLINE_TEXT = "Deadline Exceeded"
"""What gRPC itself says of a call that ran out of time."""

_READY = grpc.ChannelConnectivity.READY.value[0]
_FAILED = grpc.ChannelConnectivity.TRANSIENT_FAILURE.value[0]


def socket_authority(socket: Path) -> str:
    """The ``:authority`` of the kubelet on a registration socket: its path, percent-encoded."""
    return quote(os.fsencode(socket), safe=AUTHORITY_SAFE)


def unreachable(socket: Path) -> str:
    """Why no Unix socket can have this path; empty if one can."""
    raw = os.fsencode(socket)
    if b"\0" in raw:
        return "the path contains a NUL byte"
    if len(raw) > SOCKET_PATH_LIMIT:
        return f"the path has {len(raw)} bytes, a Unix socket at most {SOCKET_PATH_LIMIT}"
    return ""


def shown(path: Path) -> str:
    """The path as text that every encoder accepts."""
    return bounded_text(os.fsencode(path).decode("utf-8", "replace"))


_open: weakref.WeakSet[Connection] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Close what an interrupted run has left open: later its watching threads stand still."""
    for connection in list(_open):
        connection.close()


class Outcome:
    """How a call ended, before anybody looked into the answer."""

    __slots__ = ("code", "details", "duration_s", "message")

    def __init__(self, code: str, details: str, duration_s: float, message: Any) -> None:
        self.code = code
        self.details = bounded_text(details)
        self.duration_s = duration_s
        self.message = message


@dataclasses.dataclass(frozen=True, slots=True)
class _Failed:
    """An attempt to connect: when it began, and whether its channel had been ready before."""

    began: float
    was_ready: bool


class Connection:
    """Connects at once, and if ``reconnect`` again whenever the connection is lost.

    Each attempt has a channel of its own, because the pauses between attempts go by ``clock``.
    ``on_change`` is called from our thread with True when the connection is ready and False when
    it is lost.
    """

    def __init__(
        self,
        socket: Path,
        *,
        authority: str,
        settings: KubeletSettings,
        reconnect: bool,
        on_change: Callable[[bool], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._problem = unreachable(socket)
        # Percent signs and the like in a path would otherwise be taken for an escape.
        self._target = "unix:" + quote(os.fsencode(socket), safe="/")
        self._options = _options(authority)
        self._settings = settings
        self._reconnect = reconnect
        self._on_change = on_change
        self._clock = clock or Clock()
        self._moved = threading.Condition()
        self._ready = False
        self._closed = False
        self._streams: list[Any] = []
        self._channel: grpc.Channel | None = None
        if not self._problem:
            _open.add(self)
            self._channel = self._new_channel()
            threading.Thread(target=self._follow, name="kubelet-connection", daemon=True).start()

    @property
    def ready(self) -> bool:
        """True while the connection stands."""
        return self._ready

    def wait_ready(self, span_s: float) -> bool:
        """Wait ``span_s`` for the connection; False then, or at once if it is closed meanwhile."""
        end = self._clock.now() + span_s
        with self._moved:
            while not self._ready and not self._closed:
                left = end - self._clock.now()
                if left <= 0:
                    break
                self._clock.wait(self._moved, left)
            return self._ready

    def call(
        self, method: Method, request: Any, *, timeout_s: float, wait_for_ready: bool = False
    ) -> Outcome:
        """One unary call. Never raises on anything that the other side does."""
        began = self._clock.now()
        timeout_s = max(timeout_s, self._settings.least_s)

        def ended(code: str, details: str, message: Any = None) -> Outcome:
            return Outcome(code, details, self._clock.now() - began, message)

        if wait_for_ready:
            self.wait_ready(timeout_s)
        channel = self._channel
        if channel is None:
            return ended("UNAVAILABLE", f"no connection: {self._problem}")
        left = timeout_s - (self._clock.now() - began)
        if left <= 0:
            return ended("DEADLINE_EXCEEDED", DEADLINE_TEXT)
        # Taken as bytes: what is no message is ours to report, gRPC would log a traceback.
        callable_ = channel.unary_unary(
            method.path, request_serializer=_serialized, response_deserializer=bytes
        )
        with self._clock.calling():
            try:
                future: Any = callable_.future(request, timeout=left)
            except ValueError as error:
                return ended(self._refused(), str(error))
            if not self._wait_done(future, began + timeout_s):
                future.cancel()
                return ended("DEADLINE_EXCEEDED", DEADLINE_TEXT)
        if future.code() is not grpc.StatusCode.OK:
            return ended(*_status(future))
        raw = future.result()
        try:
            return ended("OK", "", method.response.FromString(raw))
        except DecodeError as error:
            name = method.response.DESCRIPTOR.full_name
            return ended("INTERNAL", f"{len(raw)} bytes that are no {name}: {error}")

    def stream(self, method: Method, request: Any, on_message: Callable[[Any], None]) -> Outcome:
        """One server stream without deadline, each message given to ``on_message``.

        Returns when it has ended, at the latest when the connection is closed. A message that
        cannot be decoded ends it as INTERNAL. Never raises on anything that the other side does.
        """
        began = self._clock.now()

        def ended(code: str, details: str) -> Outcome:
            return Outcome(code, details, self._clock.now() - began, None)

        channel = self._channel
        if channel is None:
            return ended("UNAVAILABLE", f"no connection: {self._problem}")
        callable_ = channel.unary_stream(
            method.path, request_serializer=_serialized, response_deserializer=bytes
        )
        try:
            call: Any = callable_(request)
        except ValueError as error:
            return ended(self._refused(), str(error))
        try:
            with self._cancellable(call):
                for raw in call:
                    on_message(method.response.FromString(raw))
        except grpc.RpcError as error:
            return ended(*_status(error))
        except DecodeError as error:
            call.cancel()
            return ended("INTERNAL", f"a message that is no report: {error}")
        return ended("OK", "")

    def close(self) -> None:
        """Close the connection; calls that run end as CANCELLED. May be called again."""
        with self._moved:
            if self._closed:
                return
            self._closed = True
            self._ready = False
            self._moved.notify_all()
            channel, streams = self._channel, list(self._streams)
        for stream in streams:
            stream.cancel()
        if channel is not None:
            self._close_channel(channel)

    def _refused(self) -> str:
        """Why a channel is closed under a call: by us, or because the next attempt began."""
        return "CANCELLED" if self._closed else "UNAVAILABLE"

    def _wait_done(self, future: Any, end: float) -> bool:
        finished = threading.Condition()
        done: list[bool] = []

        def note(_: Any) -> None:
            with finished:
                done.append(True)
                finished.notify_all()

        future.add_done_callback(note)
        with finished:
            while not done:
                left = end - self._clock.now()
                if left <= 0:
                    return False
                self._clock.wait(finished, left)
        return True

    @contextmanager
    def _cancellable(self, call: Any) -> Iterator[Any]:
        """Have ``close`` cancel the call, which a closing channel does not do on the wire."""
        with self._moved:
            closed = self._closed
            self._streams.append(call)
        if closed:
            call.cancel()
        try:
            yield call
        finally:
            with self._moved:
                self._streams.remove(call)

    def _new_channel(self) -> grpc.Channel:
        return grpc.insecure_channel(self._target, options=self._options)

    def _follow(self) -> None:
        """Connect, again and again, until closed; each pause counts from the attempt's begin."""
        pause_s = self._settings.reconnect_s
        while True:
            failed = self._follow_channel()
            if failed is None:
                return
            if failed.was_ready:
                pause_s = self._settings.reconnect_s
            if not self._pause_until(failed.began + pause_s):
                return
            grown = pause_s * self._settings.reconnect_factor
            pause_s = min(grown, self._settings.reconnect_limit_s)

    def _pause_until(self, moment: float) -> bool:
        """Wait, then put a new channel into the place of the old one; False if closed."""
        with self._moved:
            while not self._closed:
                left = moment - self._clock.now()
                if left <= 0:
                    break
                self._clock.wait(self._moved, left)
            if self._closed or self._channel is None:
                return False
            old, self._channel = self._channel, self._new_channel()
        self._close_channel(old)
        return True

    def _close_channel(self, channel: grpc.Channel) -> None:
        # It waits for the watch of its state, hence at most WATCH_S. In a thread, because a wait
        # in there that Ctrl-C has ended leaves a channel whose destructor waits for ever.
        closing = threading.Thread(target=channel.close, name="kubelet-closing")
        with self._clock.real():
            closing.start()
            closing.join()

    def _follow_channel(self) -> _Failed | None:
        """Follow one channel until an attempt to connect fails; None if there is no next one.

        Not by ``Channel.subscribe``: its thread raises when the channel is closed at the wrong
        moment, which pytest reports as a warning of the test that happens to run.
        """
        core: Any = getattr(self._channel, "_channel")  # noqa: B009 - the object below the public one
        began = self._clock.now()
        was_ready = False
        try:
            while not self._closed:
                state = core.check_connectivity_state(self._reconnect or not was_ready)
                is_ready = state == _READY
                if self._ready and not is_ready:
                    began = self._clock.now()
                was_ready = was_ready or is_ready
                self._set_ready(ready=is_ready)
                if was_ready and not is_ready and not self._reconnect:
                    return None
                too_long = not is_ready and self._clock.now() - began >= self._settings.connect_s
                if state == _FAILED or too_long:
                    return _Failed(began, was_ready)
                core.watch_connectivity_state(state, time.time() + WATCH_S)
        except ValueError:
            # The channel was closed between two looks: what close() is for.
            return None
        return None

    def _set_ready(self, *, ready: bool) -> None:
        with self._moved:
            if self._closed or ready is self._ready:
                return
            self._ready = ready
            self._moved.notify_all()
        if self._on_change is not None:
            self._on_change(ready)


def _options(authority: str) -> list[tuple[str, Any]]:
    return [
        ("grpc.default_authority", authority),
        ("grpc.enable_http_proxy", 0),
        # Channels to one path would otherwise share a connection and its backoff.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.initial_reconnect_backoff_ms", NEVER_MS),
        ("grpc.max_reconnect_backoff_ms", NEVER_MS),
        ("grpc.min_reconnect_backoff_ms", NEVER_MS),
    ]


def _serialized(message: Any) -> bytes:
    made: bytes = message.SerializeToString()
    return made


def _status(error: Any) -> tuple[str, str]:
    """Code name and text of a failed call; both are optional in the type, hence the care."""
    code = getattr(error, "code", lambda: None)()
    details = getattr(error, "details", lambda: None)()
    return (code.name if code is not None else "UNKNOWN", details or "")

"""One gRPC connection to a Unix socket, dialled the way the kubelet dials."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf.message import DecodeError

from pytest_dra.kubelet.answers import bounded_text
from pytest_dra.kubelet.settings import KubeletSettings
from pytest_dra.waiting import LOOK_AGAIN_S
from pytest_dra.waiting import Deadline
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

THREAD_END_S = 1.0
"""Longest wait for the thread of a closed connection, which ends at once."""

_MS = 1000


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


class Outcome:
    """How a call ended, before anybody looked into the answer."""

    __slots__ = ("code", "details", "duration_s", "message")

    def __init__(self, code: str, details: str, duration_s: float, message: Any) -> None:
        self.code = code
        self.details = bounded_text(details)
        self.duration_s = duration_s
        self.message = message


class Connection:
    """A channel that connects at once, and if ``reconnect`` again whenever the connection is lost.

    ``on_change`` is called from a thread of gRPC with True when the connection is ready and False
    when it is lost.
    """

    def __init__(
        self,
        socket: Path,
        *,
        authority: str,
        settings: KubeletSettings,
        reconnect: bool,
        on_change: Callable[[bool], None] | None = None,
    ) -> None:
        self._problem = unreachable(socket)
        self._reconnect = reconnect
        self._on_change = on_change
        self._moved = threading.Condition()
        self._ready = False
        self._closed = False
        self._channel: grpc.Channel | None = None
        self._thread: threading.Thread | None = None
        if not self._problem:
            # Percent signs and the like in a path would otherwise be taken for an escape.
            target = "unix:" + quote(os.fsencode(socket), safe="/")
            self._channel = grpc.insecure_channel(target, options=_options(authority, settings))
            self._thread = threading.Thread(
                target=self._follow, args=(self._channel,), name="kubelet-connection", daemon=True
            )
            self._thread.start()

    @property
    def ready(self) -> bool:
        """True while the connection stands."""
        return self._ready

    def wait_ready(self, deadline: Deadline) -> bool:
        """Wait for the connection; False at the deadline, or at once if it is closed meanwhile."""
        with self._moved:
            while not self._ready and not self._closed and not deadline.passed:
                self._moved.wait(min(deadline.left_s(), LOOK_AGAIN_S))
            return self._ready

    def call(
        self, method: Method, request: Any, *, timeout_s: float, wait_for_ready: bool = False
    ) -> Outcome:
        """One unary call. Never raises on anything that the other side does."""
        began = time.monotonic()

        def ended(code: str, details: str, message: Any = None) -> Outcome:
            return Outcome(code, details, time.monotonic() - began, message)

        if self._channel is None:
            return ended("UNAVAILABLE", f"no connection: {self._problem}")
        # Taken as bytes: what is no message is ours to report, gRPC would log a traceback.
        callable_ = self._channel.unary_unary(
            method.path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=bytes,
        )
        try:
            raw = callable_(request, timeout=timeout_s, wait_for_ready=wait_for_ready)
        except grpc.RpcError as error:
            return ended(*_status(error))
        except ValueError as error:
            return ended("CANCELLED", str(error))
        try:
            return ended("OK", "", method.response.FromString(raw))
        except DecodeError as error:
            name = method.response.DESCRIPTOR.full_name
            return ended("INTERNAL", f"{len(raw)} bytes that are no {name}: {error}")

    def close(self) -> None:
        """Close the connection; calls that run end as CANCELLED. May be called again."""
        with self._moved:
            if self._closed:
                return
            self._closed = True
            self._ready = False
            self._moved.notify_all()
        if self._channel is not None:
            self._channel.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(THREAD_END_S)

    def _follow(self, channel: grpc.Channel) -> None:
        """Follow the state of the channel, and connect again when it has become idle.

        Not by ``Channel.subscribe``: its thread raises when the channel is closed at the wrong
        moment, which pytest reports as a warning of the test that happens to run.
        """
        core: Any = getattr(channel, "_channel")  # noqa: B009 - the object below the public one
        ready = grpc.ChannelConnectivity.READY.value[0]
        connect = True
        try:
            while not self._closed:
                state = core.check_connectivity_state(connect)
                self._set_ready(ready=state == ready)
                connect = connect and (self._reconnect or state != ready)
                while not self._closed:
                    event = core.watch_connectivity_state(state, time.time() + WATCH_S)
                    if event.success:
                        break
        except ValueError:
            # The channel was closed between two looks: what close() is for.
            return

    def _set_ready(self, *, ready: bool) -> None:
        with self._moved:
            if self._closed or ready is self._ready:
                return
            self._ready = ready
            self._moved.notify_all()
        if self._on_change is not None:
            self._on_change(ready)


def _options(authority: str, settings: KubeletSettings) -> list[tuple[str, Any]]:
    return [
        ("grpc.default_authority", authority),
        ("grpc.enable_http_proxy", 0),
        # Channels to one path would otherwise share a connection and its backoff.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.initial_reconnect_backoff_ms", int(settings.reconnect_s * _MS)),
        ("grpc.max_reconnect_backoff_ms", int(settings.reconnect_limit_s * _MS)),
        ("grpc.min_reconnect_backoff_ms", int(settings.connect_s * _MS)),
    ]


def _status(error: grpc.RpcError) -> tuple[str, str]:
    """Code name and text of a failed call; both are optional in the type, hence the care."""
    code = getattr(error, "code", lambda: None)()
    details = getattr(error, "details", lambda: None)()
    return (code.name if code is not None else "UNKNOWN", details or "")

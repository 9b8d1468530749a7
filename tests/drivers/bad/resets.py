"""Closes its DRA connections: ``python -m tests.drivers.bad.resets WHEN [SWITCHES]``.

after: each connection is reset once an answer has gone out; before: in every third call instead of
an answer.
"""

from __future__ import annotations

import itertools
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any

import grpc

from pytest_dra.wire import Method
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.running import run

WHEN = sys.argv[1] if len(sys.argv) > 1 else "after"
CHUNK = 1 << 16
ANSWERED_S = 0.05
"""Time for an answer to pass the relay before the connection is cut."""

EVERY = 3
BACKLOG = 16
LINGER = struct.pack("ii", 1, 0)
"""SO_LINGER that drops what is not sent yet."""


class Relay:
    """Passes bytes between the outer and the inner socket until it is told to cut."""

    def __init__(self, outer: Path, inner: Path) -> None:
        self.inner = inner
        self.pairs: list[socket.socket] = []
        outer.unlink(missing_ok=True)
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.bind(str(outer))
        self.server.listen(BACKLOG)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections."""
        pairs, self.pairs = self.pairs, []
        for each in pairs:
            try:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
                each.shutdown(socket.SHUT_RDWR)
                each.close()
            except OSError:
                continue

    def _accept(self) -> None:
        while True:
            client, _ = self.server.accept()
            behind = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            behind.connect(str(self.inner))
            self.pairs += [client, behind]
            for pair in ((client, behind), (behind, client)):
                threading.Thread(target=_pass_on, args=pair, daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


class Resets(Plugin):
    """Its DRA socket is a relay that is cut again and again."""

    relay: Relay
    calls = itertools.count(1)

    def listen(self, path: Path, handlers: list[Any]) -> None:
        if path != self.dra_socket():
            super().listen(path, handlers)
            return
        inner = path.with_name("inner.sock")
        super().listen(inner, handlers)
        self.relay = Relay(path, inner)

    def prepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        self._cut()
        return super().prepare(method, request, context)

    def unprepare(self, method: Method, request: Any, context: grpc.ServicerContext) -> Any:
        self._cut()
        return super().unprepare(method, request, context)

    def _cut(self) -> None:
        if WHEN == "before" and next(self.calls) % EVERY == 0:
            self.relay.cut()
        elif WHEN == "after":
            threading.Timer(ANSWERED_S, self.relay.cut).start()


if __name__ == "__main__":
    run(sys.argv[2:], plugin_class=Resets)

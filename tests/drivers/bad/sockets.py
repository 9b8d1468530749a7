"""Speaks no gRPC: ``python -m tests.drivers.bad.sockets WHAT [SWITCHES]``.

On the registration socket: garbage (random bytes), text (a plain text greeting), silence (accepts
and says nothing), closes (accepts and closes), message (gRPC with bytes that are no message).
On the DRA socket, with a good registration: dra-garbage, dra-text, dra-silence, dra-closes,
dra-message.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from pytest_dra.wire import Method
from tests.drivers.good.plugin import Plugin
from tests.drivers.good.running import run

GARBAGE_BYTES = 1 << 16
BACKLOG = 16

WHAT = sys.argv[1] if len(sys.argv) > 1 else ""


def garbage(client: socket.socket) -> None:
    """Random bytes; nobody reads what comes."""
    client.sendall(os.urandom(GARBAGE_BYTES))


def text(client: socket.socket) -> None:
    """A server of another protocol."""
    client.sendall(b"220 mail.example.com ESMTP ready\r\n")


def silence(client: socket.socket) -> None:
    """Nothing at all."""


def closes(client: socket.socket) -> None:
    """Hang up at once."""
    client.close()


TALKS: dict[str, Callable[[socket.socket], None]] = {
    "garbage": garbage,
    "text": text,
    "silence": silence,
    "closes": closes,
}


def serve(path: Path, talk: Callable[[socket.socket], None]) -> None:
    """Accept for ever, in a thread."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen(BACKLOG)
    kept = []

    def accept() -> None:
        while True:
            client, _ = server.accept()
            kept.append(client)
            try:
                talk(client)
            except OSError:
                continue

    threading.Thread(target=accept, daemon=True).start()


class SpeaksNoGrpc(Plugin):
    """One of its sockets is served by something else."""

    def listen(self, path: Path, handlers: list[Any]) -> None:
        dra = path == self.dra_socket()
        talk = TALKS.get(WHAT.removeprefix("dra-"))
        if talk is not None and dra == WHAT.startswith("dra-"):
            serve(path, talk)
        else:
            super().listen(path, handlers)

    def registration_handler(self) -> Any:
        return (
            no_message("pluginregistration.Registration")
            if WHAT == "message"
            else super().registration_handler()
        )

    def handler(self, methods: Any) -> Any:
        method: Method = methods.prepare
        return no_message(method.service) if WHAT == "dra-message" else super().handler(methods)


def no_message(service: str) -> Any:
    """A gRPC service whose answers to all calls are no messages."""
    names = (
        "GetInfo",
        "NotifyRegistrationStatus",
        "NodePrepareResources",
        "NodeUnprepareResources",
    )
    behaviour = grpc.unary_unary_rpc_method_handler(lambda request, context: b"\xff" * 64)
    return grpc.method_handlers_generic_handler(service, dict.fromkeys(names, behaviour))


if __name__ == "__main__":
    run(sys.argv[2:], plugin_class=SpeaksNoGrpc)

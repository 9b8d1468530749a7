"""Floods the API server: ``python -m tests.drivers.bad.floods WHAT [SWITCHES]``.

connections: 3,000 that are held open and never say anything; slow: 200 requests whose headers and
bodies never end; bodies: bodies of 100 MB, with and without a length; writes: writes a slice
without a pause; reads: reads without a pause.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tests.drivers.good.api import SLICES
from tests.drivers.good.api import Refused
from tests.drivers.good.publisher import Publisher
from tests.drivers.good.running import run

CONNECTIONS = 3_000
SLOW = 200
BODY = 100 << 20
CHUNK = 1 << 20
DRIP_S = 0.5
LOOPS = 2
WHAT = sys.argv[1] if len(sys.argv) > 1 else ""


class Raw:
    """Connections to the API server below HTTP."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text("utf-8"))
        url = urlsplit(config["clusters"][0]["cluster"]["server"])
        self.address = (url.hostname or "", url.port or 0)
        self.path = url.path.rstrip("/") + SLICES
        self.held: list[socket.socket] = []

    def open(self) -> socket.socket:
        """One connection, held until the end."""
        link = socket.create_connection(self.address, timeout=10)
        self.held.append(link)
        return link


def connections(raw: Raw) -> None:
    """As many as we may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, wanted)), hard))
    with contextlib.suppress(OSError):
        for _ in range(CONNECTIONS):
            raw.open()


def slow(raw: Raw) -> None:
    """A byte now and then, for ever."""
    for number in range(SLOW):
        head = f"POST {raw.path} HTTP/1.1\r\nHost: x\r\n"
        if number % 2:
            head += "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
        raw.open().sendall(head.encode())
    while True:
        threading.Event().wait(DRIP_S)
        for number, link in enumerate(raw.held):
            with contextlib.suppress(OSError):
                link.sendall(b"{" if number % 2 else b"X: y\r\n")


def bodies(raw: Raw) -> None:
    """Too much at once, again and again."""
    head = f"POST {raw.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    filling = b"x" * CHUNK
    while True:
        with contextlib.suppress(OSError), contextlib.closing(raw.open()) as link:
            link.sendall(f"{head}Content-Length: {BODY}\r\n\r\n".encode())
            for _ in range(BODY // CHUNK):
                link.sendall(filling)
        with contextlib.suppress(OSError), contextlib.closing(raw.open()) as link:
            link.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            for _ in range(BODY // CHUNK):
                link.sendall(b"%x\r\n%s\r\n" % (CHUNK, filling))
        raw.held.clear()


RAW: dict[str, Callable[[Raw], None]] = {"connections": connections, "slow": slow, "bodies": bodies}


class Floods(Publisher):
    """Publishes as it should, and floods beside it."""

    def run(self, stopping: threading.Event) -> None:
        if WHAT in RAW:
            raw = Raw(self.options.kubeconfig)
            threading.Thread(target=RAW[WHAT], args=(raw,), daemon=True).start()
            super().run(stopping)
            return
        self.publish()
        for _ in range(LOOPS):
            loop = self.write_always if WHAT == "writes" else self.read_always
            threading.Thread(target=loop, args=(stopping,), daemon=True).start()
        super().run(stopping)

    def write_always(self, stopping: threading.Event) -> None:
        """Change a slice without a pause."""
        number = 0
        while not stopping.is_set():
            number += 1
            with contextlib.suppress(Refused):
                first = self.wanted()[0]
                for device in first["spec"]["devices"]:
                    device["attributes"]["count"] = {"int": number}
                body = {"spec": {"devices": first["spec"]["devices"]}}
                path = f"{SLICES}/{first['metadata']['name']}"
                self.api.request("PATCH", path, body, kind="merge-patch+json")

    def read_always(self, stopping: threading.Event) -> None:
        """List slices without a pause."""
        while not stopping.is_set():
            with contextlib.suppress(Refused):
                self.api.slices(self.options.name, self.options.node)


def _is_known(what: str) -> bool:
    return what in (*RAW, "writes", "reads")


if __name__ == "__main__":
    if not _is_known(WHAT):
        os._exit(2)
    run(sys.argv[2:], publisher_class=Floods)

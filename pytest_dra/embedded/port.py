"""The port of the server: opened, taken away from its clients for a while, and given back."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from typing import Final

from aiohttp import web

HOST: Final = "127.0.0.1"
"""The only address that the server listens on."""

_BACKLOG: Final = 128
"""Connections that may wait to be accepted."""

_SHUTDOWN_S: Final = 0.1
"""What open connections get to finish; watches have been cancelled before."""


class Port:
    """One port of the loopback interface, chosen at the first :meth:`open` and kept from then on.

    All methods belong to the server's loop. With ``tls`` it speaks HTTPS.
    """

    def __init__(self, server: web.Server, *, tls: ssl.SSLContext | None = None) -> None:
        self._server = server
        self._tls = tls
        self._runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_S)
        self._site: web.SockSite | None = None
        self._kept: socket.socket | None = None
        self.number = 0

    async def open(self) -> None:
        """Accept connections; nothing happens if it does already."""
        if self._site is not None:
            return
        if self._runner.server is None:
            await self._runner.setup()
        link, self._kept = self._kept or self._bound(), None
        self._site = web.SockSite(self._runner, link, backlog=_BACKLOG, ssl_context=self._tls)
        await self._site.start()

    async def close(self) -> None:
        """Refuse new connections and reset the open ones; the port stays ours."""
        if self._site is None:
            return
        site, self._site = self._site, None
        # Before the port is given up: somebody's connection could begin there at that moment.
        self._kept = self._bound()
        await site.stop()
        for connection in self._server.connections:
            if connection.transport is not None:
                reset(connection.transport)

    async def end(self) -> None:
        """Close everything, for good."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None
        await self._runner.cleanup()

    def _bound(self) -> socket.socket:
        # bound, but not listening, it refuses connections and keeps others off the port
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            link.bind((HOST, self.number))
        except OSError:
            link.close()
            raise
        self.number = link.getsockname()[1]
        return link


def cut(request: web.BaseRequest) -> None:
    """Cut the connection of a request, so that its client sees a reset and no answer."""
    if request.transport is not None:
        reset(request.transport)


def reset(transport: asyncio.BaseTransport) -> None:
    """End a connection with RST, so that its peer sees no orderly end."""
    link = transport.get_extra_info("socket")
    if link is not None:
        # without lingering, closing sends RST
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()

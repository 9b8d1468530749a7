"""The port of the server stays its own, whatever happens to it."""

from __future__ import annotations

import asyncio
import errno
import socket

import pytest
from aiohttp import web

from pytest_dra.embedded.port import HOST
from pytest_dra.embedded.port import Port


async def _answer(_: web.BaseRequest) -> web.StreamResponse:
    return web.Response()


def _who_wants_it(number: int) -> int | None:
    """What somebody is told who wants the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as link:
        try:
            link.bind((HOST, number))
        except OSError as error:
            return error.errno
    return None


def test_nobody_gets_the_port_while_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int | None] = []
    stop = web.SockSite.stop

    async def closes() -> None:
        port = Port(web.Server(_answer))

        async def stopped(site: web.SockSite) -> None:
            await stop(site)
            told.append(_who_wants_it(port.number))

        monkeypatch.setattr(web.SockSite, "stop", stopped)
        await port.open()
        await port.close()
        await port.open()
        await port.end()

    asyncio.run(closes())
    assert told[0] == errno.EADDRINUSE

"""A server for each test: it starts in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_dra.embedded import ApiServer
from pytest_dra.embedded import User
from pytest_dra.timeline import Timeline
from tests.embedded.client import Client


@pytest.fixture
def timeline() -> Timeline:
    """What the server records."""
    return Timeline()


@pytest.fixture
def server(timeline: Timeline) -> Iterator[ApiServer]:
    """A running server of the newest version."""
    tokens = {
        "admin-token": User("admin", ("system:masters",)),
        "driver-token": User("system:serviceaccount:default:driver"),
    }
    server = ApiServer(timeline=timeline, tokens=tokens)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def client(server: ApiServer) -> Client:
    """An administrator."""
    return Client(server.url)

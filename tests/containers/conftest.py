from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dra.containers.box import Box
from pytest_dra.containers.fleet import Fleet
from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from tests.containers.fakeengine import FakeEngine


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    with Keeper() as made:
        yield made


@pytest.fixture
def docker(tmp_path: Path) -> FakeEngine:
    return FakeEngine(tmp_path)


@pytest.fixture
def directories(keeper: Keeper) -> NodeDirectories:
    return NodeDirectories.make(keeper)


@pytest.fixture
def box(docker: FakeEngine, directories: NodeDirectories) -> Box:
    return Box(directories, fleet=Fleet(docker.engine), account=directories.make_own())

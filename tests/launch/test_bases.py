"""Where a node's directories are made."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch import directories


def _memory(
    monkeypatch: pytest.MonkeyPatch, memory: Path, *, free: int = 2 << 30, flags: int = 0
) -> None:
    """Let ``memory`` be a file system with these properties, and TMPDIR unset."""
    about = SimpleNamespace(f_bavail=free // 4096, f_frsize=4096, f_flag=flags)
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(directories, "MEMORY", memory)
    monkeypatch.setattr("pytest_dra.launch.directories.os.statvfs", lambda _: about)


@pytest.fixture
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("memory")


def test_memory_is_taken_where_there_is_room(monkeypatch: pytest.MonkeyPatch, memory: Path) -> None:
    _memory(monkeypatch, memory)
    monkeypatch.setattr(directories, "ROOT_LIMIT", 200)
    with Keeper() as keeper:
        assert NodeDirectories.make(keeper, in_memory=True).root.parent == memory


def test_small_memory_without_programs_or_none_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, memory: Path
) -> None:
    monkeypatch.setattr(directories, "ROOT_LIMIT", 200)
    with Keeper() as keeper:
        for free, flags in ((64 << 20, 0), (2 << 30, os.ST_NOEXEC)):
            _memory(monkeypatch, memory, free=free, flags=flags)
            assert NodeDirectories.make(keeper, in_memory=True).root.parent != memory
        _memory(monkeypatch, memory / "nothing")
        assert NodeDirectories.make(keeper, in_memory=True).root.parent.exists()


def test_a_directory_that_the_user_has_named_is_taken(
    monkeypatch: pytest.MonkeyPatch, memory: Path
) -> None:
    _memory(monkeypatch, memory)
    monkeypatch.setattr(directories, "ROOT_LIMIT", 200)
    monkeypatch.setenv("TMPDIR", "/tmp")
    with Keeper() as keeper:
        assert NodeDirectories.make(keeper, in_memory=True).root.parent != memory


def test_what_may_fill_its_directory_is_not_put_into_memory(
    monkeypatch: pytest.MonkeyPatch, memory: Path
) -> None:
    _memory(monkeypatch, memory)
    monkeypatch.setattr(directories, "ROOT_LIMIT", 200)
    with Keeper() as keeper:
        assert NodeDirectories.make(keeper).root.parent != memory

"""The CDI directory as an obstacle, and a driver's files of state."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pytest_dra.bench import Bench
from pytest_dra.bench.obstacles import unwritable_cdi
from pytest_dra.bench.statefiles import GARBAGE
from pytest_dra.bench.statefiles import StateFiles
from pytest_dra.bench.statefiles import damage
from pytest_dra.launch import LaunchError
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline


class _Jail:
    """Notes what is made unwritable in it, and may refuse."""

    def __init__(self, problem: str = "") -> None:
        self.did: list[object] = []
        self._problem = problem

    @contextmanager
    def read_only(self, inside: str, pids: Sequence[int]) -> Iterator[None]:
        if self._problem:
            raise LaunchError(self._problem)
        self.did.append((inside, list(pids)))
        yield
        self.did.append("again")


def _bench(tmp_path: Path, *, state: tuple[str, ...] = (), jail: _Jail | None = None) -> Bench:
    """The few parts of a bench that obstacles and files of state need."""
    for name in ("cdi", "plug"):
        (tmp_path / name).mkdir()
    directories = SimpleNamespace(cdi_dir=tmp_path / "cdi", plugins_dir=tmp_path / "plug")
    return cast(
        "Bench",
        SimpleNamespace(
            timeline=Timeline(),
            instance=SimpleNamespace(
                directories=directories,
                place=SimpleNamespace(lodging=jail),
                driver=SimpleNamespace(pids=[7]),
            ),
            profile=SimpleNamespace(launch=SimpleNamespace(state=state)),
        ),
    )


def test_an_unwritable_cdi_directory_is_a_file_and_comes_back_with_its_content(
    tmp_path: Path,
) -> None:
    bench, directory = _bench(tmp_path), tmp_path / "cdi"
    (directory / "spec.json").write_text("{}")
    with unwritable_cdi(bench):
        with pytest.raises(NotADirectoryError):
            (directory / "new.json").write_text("{}")
        with pytest.raises(NotADirectoryError):
            (directory / "spec.json").unlink()
        assert bench.timeline.add(Mark(text="now")).disturbed
    assert [path.name for path in directory.iterdir()] == ["spec.json"]
    assert not bench.timeline.add(Mark(text="then")).disturbed


def test_what_a_driver_makes_in_the_place_of_the_directory_is_removed(tmp_path: Path) -> None:
    bench, directory = _bench(tmp_path), tmp_path / "cdi"
    with unwritable_cdi(bench):
        directory.unlink()
        directory.mkdir()
        (directory / "forced.json").write_text("{}")
    assert list(directory.iterdir()) == []
    with unwritable_cdi(bench):
        directory.unlink()
        directory.symlink_to(tmp_path / "plug")
    assert directory.is_dir()
    assert not directory.is_symlink()
    assert (tmp_path / "plug").is_dir()


def test_a_jailed_driver_cannot_write_at_the_usual_path_either(tmp_path: Path) -> None:
    jail = _Jail()
    with unwritable_cdi(_bench(tmp_path, jail=jail)):
        assert jail.did == [("/var/run/cdi", [7])]
        assert (tmp_path / "cdi").is_file()
    assert jail.did[1:] == ["again"]
    assert (tmp_path / "cdi").is_dir()


def test_a_jail_that_cannot_be_changed_is_no_fault_of_the_driver(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedEnvironment, match="no rights") as caught:
        with unwritable_cdi(_bench(tmp_path, jail=_Jail("no rights"))):
            pass
    assert (
        caught.value.way_out == "run pytest as root, with a rootless engine, or without --dra-jail"
    )


def test_files_that_have_come_or_changed_are_state_and_links_are_not(tmp_path: Path) -> None:
    bench, plug = _bench(tmp_path), tmp_path / "plug"
    for name in ("same", "changed"):
        (plug / name).write_text("old")
    files = StateFiles(bench)
    (plug / "changed").write_text("new and longer")
    (plug / "deep").mkdir()
    (plug / "deep" / "added").write_text("new")
    (plug / "link").symlink_to(plug / "same")
    found = files.now()
    assert {path.name for path in found} == {"changed", "added"}
    assert sorted(damage([*found, plug / "link", plug / "gone"])) == ["added", "changed"]
    assert (plug / "changed").read_bytes() == GARBAGE
    assert (plug / "same").read_text() == "old"


def test_declared_files_of_state_are_taken_as_declared(tmp_path: Path) -> None:
    bench, plug = _bench(tmp_path, state=("checkpoint.json",)), tmp_path / "plug"
    files = StateFiles(bench)
    (plug / "driver").mkdir()
    for name in ("checkpoint.json", "other.json"):
        (plug / "driver" / name).write_text("{}")
    assert files.now() == [plug / "driver" / "checkpoint.json"]

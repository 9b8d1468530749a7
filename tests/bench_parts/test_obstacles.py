"""The CDI directory as an obstacle, and a driver's files of state."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pytest_dra.bench import Bench
from pytest_dra.bench.obstacles import unwritable_cdi
from pytest_dra.bench.statefiles import GARBAGE
from pytest_dra.bench.statefiles import StateFiles
from pytest_dra.bench.statefiles import damage
from pytest_dra.timeline import Mark
from pytest_dra.timeline import Timeline


def _bench(tmp_path: Path, *, state: tuple[str, ...] = ()) -> Bench:
    """The few parts of a bench that obstacles and files of state need."""
    for name in ("cdi", "plug"):
        (tmp_path / name).mkdir()
    directories = SimpleNamespace(cdi_dir=tmp_path / "cdi", plugins_dir=tmp_path / "plug")
    return cast(
        "Bench",
        SimpleNamespace(
            timeline=Timeline(),
            instance=SimpleNamespace(directories=directories),
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

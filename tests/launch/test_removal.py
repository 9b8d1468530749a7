from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

import pytest

from pytest_dra.launch import Keeper
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.removal import remove
from pytest_dra.launch.removal import restore

DEEP = 1200
"""Folders in one another: more than recursion allows, and than a path can name."""

MANY = 4500
MS_BIND = 4096


def deepen(folder: Path, levels: int) -> None:
    """Make folders in one another, without naming them by their whole path."""
    within = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=within)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=within)
        os.close(within)
        within = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=within))
    os.close(within)


def test_neither_depth_nor_number_nor_permissions_keep_a_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    deepen(root, DEEP)
    for number in range(MANY):
        (root / f"file-{number}").touch()
    (root / ".removed-0").mkdir()
    locked = root / "locked" / "inner"
    locked.mkdir(parents=True)
    (locked / "file").touch()
    locked.chmod(0)
    locked.parent.chmod(0)
    root.chmod(0)
    assert remove(str(root))
    assert not root.exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    root, precious = tmp_path / "root", tmp_path / "precious"
    root.mkdir()
    (precious / "inside").mkdir(parents=True)
    (root / "link").symlink_to(precious)
    (root / "to-root").symlink_to("/")
    (root / "folder").mkdir()
    (root / "folder" / "link").symlink_to(precious)
    assert remove(str(root))
    replaced = tmp_path / "replaced"
    replaced.symlink_to(precious)
    assert remove(str(replaced))
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
    assert (precious / "inside").is_dir()


@pytest.mark.parametrize("what", ["gone", "link", "file", "locked", "full"])
def test_a_folder_is_restored_whatever_is_there(what: str, tmp_path: Path) -> None:
    place, precious = tmp_path / "place", tmp_path / "precious"
    (precious / "inside").mkdir(parents=True)
    if what == "link":
        place.symlink_to(precious)
    elif what == "file":
        place.touch()
    elif what in ("locked", "full"):
        (place / "folder").mkdir(parents=True)
    if what == "locked":
        place.chmod(0)
    restore(str(place))
    assert place.is_dir()
    assert not place.is_symlink()
    assert list(place.iterdir()) == []
    assert place.stat().st_mode & 0o777 == 0o755
    assert (precious / "inside").is_dir()


def test_what_a_driver_has_mounted_is_unmounted_and_not_emptied(tmp_path: Path) -> None:
    root, precious = tmp_path / "ro ot", tmp_path / "precious"
    (root / "mount point").mkdir(parents=True)
    (precious / "inside").mkdir(parents=True)
    libc = ctypes.CDLL(None, use_errno=True)
    target = os.fsencode(root / "mount point")
    if libc.mount(os.fsencode(precious), target, b"", MS_BIND, None) != 0:
        pytest.skip("this user may not mount")
    keeper = Keeper()
    keeper.start()
    keeper.own_directory(root)
    keeper.close()
    assert not root.exists()
    assert (precious / "inside").is_dir()
    assert str(root) not in Path("/proc/self/mountinfo").read_text("utf-8").replace("\\040", " ")


def test_directories_are_whole_again_whatever_a_driver_has_done_to_them() -> None:
    with Keeper() as keeper:
        places = NodeDirectories.make(keeper)
        assert places.damage() == ""
        places.registry_dir.rmdir()
        places.cdi_dir.rmdir()
        places.cdi_dir.symlink_to("/")
        places.static_cdi_dir.chmod(0)
        assert places.damage() == (
            "directory reg is gone, directory cdi is a link to '/' now,"
            " directory etc-cdi has the mode 000 now"
        )
        places.wipe()
        assert places.damage() == ""
        shutil.rmtree(places.root)
        places.root.symlink_to("/nowhere")
        places.wipe()
        assert places.damage() == ""
        assert places.logs.is_dir()
        places.plugins_dir.rmdir()
        places.plugins_dir.symlink_to(places.logs)
        places.make_driver_dir("x.example.com")
        assert list(places.logs.iterdir()) == []
    assert not places.root.exists()

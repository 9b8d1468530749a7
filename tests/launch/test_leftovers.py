"""However pytest ends: no process, no socket, no directory is left."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_dra.launch import Component
from pytest_dra.launch import Driver
from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.launch import NodeDirectories
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from tests.launch.conftest import gone
from tests.launch.conftest import soon

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]


@pytest.mark.parametrize("how", ["sigint", "exception", "sigkill", "forked", "close", "hangup"])
def test_nothing_is_left_of_a_driver_that_wants_to_stay(how: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    kept = Path(f"{pids}.kept")
    kept.mkdir()
    (kept / "file").touch()
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.launch.parent", how, str(pids)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    with parent, parent.stdout:
        keeper, root = parent.stdout.readline().split()
        family = [int(keeper), *map(int, pids.read_text().split())]
        assert len(family) == 6
        # Like a terminal does: to the whole foreground process group.
        if how == "sigint":
            os.killpg(parent.pid, signal.SIGINT)
        elif how == "hangup":
            os.killpg(parent.pid, signal.SIGHUP)
        elif how in ("sigkill", "forked"):
            parent.kill()
        parent.wait(30)
    for pid in family:
        soon(functools.partial(gone, pid))
    assert not Path(root).exists()
    assert (kept / "file").exists()
    if how == "forked":
        os.killpg(parent.pid, signal.SIGKILL)


def _nasty(keeper: Keeper, directories: NodeDirectories, pids: Path) -> Driver:
    command = (sys.executable, str(HERE / "nasty_driver.py"), "{registry_dir}", str(pids))
    return Driver(
        [Component("nasty", command)],
        directories=directories,
        keeper=keeper,
        timeline=Timeline(),
        instance="A",
        node="node-1",
    )


def test_a_killed_driver_leaves_nothing_to_meet_its_next_start(
    keeper: Keeper, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    driver = _nasty(keeper, NodeDirectories.make(keeper), pids)
    driver.start()
    soon(pids.exists)
    assert not driver.terminate(Deadline.after(0.2))
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_another_drivers_processes_survive_the_kill_of_one(keeper: Keeper, tmp_path: Path) -> None:
    first = _nasty(keeper, NodeDirectories.make(keeper), tmp_path / "first")
    second = _nasty(keeper, NodeDirectories.make(keeper), tmp_path / "second")
    first.start()
    second.start()
    soon(lambda: (tmp_path / "first").exists() and (tmp_path / "second").exists())
    first.kill()
    *family, hidden = map(int, (tmp_path / "first").read_text().split())
    assert all(gone(pid) for pid in family)
    assert not gone(hidden)
    assert second.alive
    assert not any(gone(int(pid)) for pid in (tmp_path / "second").read_text().split())


LARGE = """
import os, pathlib, sys, threading
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    memory = bytearray(400 << 20)
    for at in range(0, len(memory), 4096):
        memory[at] = 1
    ready = pathlib.Path(sys.argv[1] + ".new")
    ready.write_text(str(os.getpid()))
    ready.rename(sys.argv[1])
threading.Event().wait(300)
"""
"""Leaves a daemon that takes a while to end: its memory is given back after its environment."""


def test_a_kill_waits_for_processes_that_end_slowly(keeper: Keeper, tmp_path: Path) -> None:
    keeper.spawn(["sleep", "300"], env={}, cwd=tmp_path, log=tmp_path / "other")
    pid = tmp_path / "pid"
    command = [sys.executable, "-I", "-S", "-c", LARGE, str(pid)]
    child = keeper.spawn(command, env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log")
    soon(pid.exists)
    child.kill()
    assert gone(int(pid.read_text()))


def test_a_killed_keeper_takes_its_processes_along_and_is_reported(tmp_path: Path) -> None:
    keeper = Keeper()
    keeper.start()
    process = keeper.spawn(
        ["sleep", "300"], env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log"
    )
    os.kill(keeper.pid, signal.SIGKILL)
    soon(lambda: gone(process.pid))
    soon(lambda: not process.alive)
    assert process.exit_code is None
    with pytest.raises(LaunchError, match="keeper"):
        keeper.spawn(["true"], env={}, cwd=tmp_path, log=tmp_path / "log")
    keeper.close()


def test_of_an_owned_directory_that_was_moved_and_replaced_nothing_but_ours_is_removed(
    tmp_path: Path,
) -> None:
    mine = tmp_path / "mine"
    precious = tmp_path / "precious"
    mine.mkdir()
    (precious / "inside").mkdir(parents=True)
    keeper = Keeper()
    keeper.start()
    keeper.own_directory(mine)
    mine.rename(tmp_path / "moved")
    mine.symlink_to(precious)
    keeper.close()
    assert (precious / "inside").is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize("path", ["/proc", "relative", "/nonexistent/x"])
def test_only_directories_of_our_own_can_be_owned(keeper: Keeper, path: str) -> None:
    with pytest.raises(LaunchError, match="cannot own the directory"):
        keeper.own_directory(Path(path))


def test_closing_twice_and_closing_unstarted_are_harmless() -> None:
    keeper = Keeper()
    keeper.close()
    keeper.start()
    keeper.close()
    keeper.close()
    with pytest.raises(LaunchError, match="not started"):
        keeper.own_directory(Path("/tmp"))


def test_a_forked_copy_of_pytest_ends_nothing(keeper: Keeper, tmp_path: Path) -> None:
    process = keeper.spawn(
        ["sleep", "300"], env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log"
    )
    copy = multiprocessing.get_context("fork").Process(target=keeper.close)
    copy.start()
    copy.join(20)
    assert copy.exitcode == 0
    process.signal(signal.SIGCONT)
    assert process.alive

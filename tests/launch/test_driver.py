from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_dra.launch import Component
from pytest_dra.launch import Driver
from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.launch import NodeDirectories
from pytest_dra.launch.directories import SOCKET_PATH_LIMIT
from pytest_dra.timeline import ProcessEvent
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from tests.launch.conftest import soon


@pytest.fixture
def directories(keeper: Keeper) -> NodeDirectories:
    return NodeDirectories.make(keeper)


@pytest.fixture
def timeline() -> Timeline:
    return Timeline()


def _driver(
    keeper: Keeper,
    directories: NodeDirectories,
    timeline: Timeline,
    commands: Sequence[Sequence[str]],
) -> Driver:
    components = [Component(f"c{n}", tuple(command)) for n, command in enumerate(commands)]
    return Driver(
        components,
        directories=directories,
        keeper=keeper,
        timeline=timeline,
        instance="A",
        node="node-1",
        driver_name="gpu.example.com",
    )


def _actions(timeline: Timeline) -> list[tuple[str, str, int | None]]:
    return [
        (entry.event.component, entry.event.action, entry.event.exit_code)
        for entry in timeline.entries(ProcessEvent)
    ]


def test_a_driver_starts_ends_and_restarts(
    keeper: Keeper, directories: NodeDirectories, timeline: Timeline
) -> None:
    script = "echo $POD_UID {driver_dir}; exec sleep 300"
    driver = _driver(keeper, directories, timeline, [("sh", "-c", script)])
    driver.start()
    assert driver.alive
    soon(driver.log_tail)
    assert f"{driver.pod_uid} {directories.plugins_dir}/gpu.example.com" in driver.log_tail()
    with pytest.raises(LaunchError, match="runs already"):
        driver.start()
    assert driver.restart(Deadline.after(20))
    assert driver.terminate(Deadline.after(20))
    assert driver.early_exits() == ()
    one = [("c0", "start", None), ("c0", "terminate", None), ("c0", "exit", -15)]
    assert _actions(timeline) == one + one
    driver.kill()
    assert driver.early_exits() == ()


def test_a_driver_that_exits_at_once_is_reported_with_its_last_words(
    keeper: Keeper, directories: NodeDirectories, timeline: Timeline
) -> None:
    commands = [("sleep", "300"), ("sh", "-c", "echo no GPU here; exit 7")]
    driver = _driver(keeper, directories, timeline, commands)
    driver.start()
    soon(lambda: not driver.alive)
    [early] = driver.early_exits()
    assert (early.component, early.exit_code, early.log_tail) == ("c1", 7, "no GPU here\n")
    assert driver.pids == [driver.processes["c0"].pid]
    assert ("c1", "exit", 7) in _actions(timeline)
    driver.kill()
    assert [exit.component for exit in driver.early_exits()] == ["c1"]
    assert _actions(timeline)[-2:] == [("c0", "kill", None), ("c0", "exit", -9)]


def test_a_wrong_command_is_found_before_anything_is_started(
    keeper: Keeper, directories: NodeDirectories, timeline: Timeline
) -> None:
    driver = _driver(keeper, directories, timeline, [("sleep", "300"), ("no-such-driver",)])
    with pytest.raises(LaunchError, match="component 'c1': command 'no-such-driver' not found"):
        driver.start()
    assert timeline.entries(ProcessEvent) == []
    assert not driver.alive


def test_what_only_executing_shows_takes_the_started_ones_back(
    keeper: Keeper, directories: NodeDirectories, timeline: Timeline
) -> None:
    script = directories.root / "script"
    script.write_text("#!/nonexistent/interpreter\n")
    script.chmod(0o755)
    driver = _driver(keeper, directories, timeline, [("sleep", "300"), (str(script),)])
    with pytest.raises(LaunchError, match="script"):
        driver.start()
    assert not driver.alive
    assert _actions(timeline)[-1] == ("c0", "exit", -9)


def test_the_directories_are_private_and_short(directories: NodeDirectories) -> None:
    assert stat.S_IMODE(directories.root.stat().st_mode) == 0o700
    directories.check_sockets("g" * 63)
    longest = directories.registry_dir / ("g" * 63 + "-reg.sock")
    assert len(os.fsencode(longest)) <= SOCKET_PATH_LIMIT


def test_a_socket_path_that_is_too_long_is_said(directories: NodeDirectories) -> None:
    with pytest.raises(LaunchError, match="at most 107"):
        directories.check_sockets("g" * 63, pod_uid="0" * 36)


def test_a_long_base_is_refused_and_a_long_tmpdir_replaced(
    keeper: Keeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 60)
    deep.mkdir()
    with pytest.raises(LaunchError, match="too long for the sockets"):
        NodeDirectories.make(keeper, base=deep)
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    assert NodeDirectories.make(keeper).root.parent == Path("/tmp")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\0"])
def test_a_driver_directory_stays_inside(directories: NodeDirectories, name: str) -> None:
    with pytest.raises(LaunchError, match="cannot be the name of a directory"):
        directories.driver_dir(name)


def test_wiping_follows_no_link(directories: NodeDirectories, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (directories.registry_dir / "sub").mkdir()
    (directories.registry_dir / "sub" / "link").symlink_to(kept)
    (directories.registry_dir / "link").symlink_to(kept)
    directories.cdi_dir.rmdir()
    directories.cdi_dir.symlink_to(kept)
    directories.wipe()
    assert (kept / "file").exists()
    for directory in (directories.registry_dir, directories.plugins_dir, directories.cdi_dir):
        assert not directory.is_symlink()
        assert list(directory.iterdir()) == []


def test_a_log_stays_in_its_directory(directories: NodeDirectories) -> None:
    assert directories.log("../A", "x/y" + "z" * 500).parent == directories.logs

"""SIGKILL at a chosen write, of a process that writes one file after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pytest_dra.bench.crashpoint import CrashPoints
from pytest_dra.bench.crashpoint import Strike
from pytest_dra.bench.instance import Instance
from pytest_dra.launch import Keeper
from pytest_dra.launch.process import Process
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.timeline import Timeline
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from pytest_dra.wire.answers import NodeReply

WRITER = """
import os, sys, time
open("go").close()
os.mkdir("plug/deep"); time.sleep(0.05)
for number in range(int(sys.argv[1])):
    os.close(os.open(f"plug/deep/{number}", os.O_CREAT | os.O_WRONLY))
    time.sleep(0.05)
os.rename("plug/deep", "plug/done")
time.sleep(60)
"""
"""A directory, and files in it with time between, so that each is a moment of its own."""

PAUSE_S = 20.0

ANSWER = NodeReply(code="OK", details="", duration_s=0.0, serial=0, claims={})


class Writer:
    """A stand-in for a driver and its instance."""

    def __init__(self, keeper: Keeper, directory: Path, files: int) -> None:
        self.directory = directory
        for name in ("plug", "cdi", "etc"):
            (directory / name).mkdir()
        os.mkfifo(directory / "go")
        self.process: Process = keeper.spawn(
            [sys.executable, "-c", WRITER, str(files)],
            env=dict(os.environ),
            cwd=directory,
            log=directory / "log",
        )
        self.instance = cast(
            "Instance",
            SimpleNamespace(
                name="a",
                timeline=Timeline(),
                directories=SimpleNamespace(
                    plugins_dir=directory / "plug",
                    cdi_dir=directory / "cdi",
                    static_cdi_dir=directory / "etc",
                ),
                driver=SimpleNamespace(processes={"writer": self.process}, values={}),
                kill=self.process.kill,
                over=False,
            ),
        )

    def call(self) -> NodeReply:
        """Let it write, and wait until it has or is dead."""
        (self.directory / "go").write_bytes(b"")
        done = self.directory / "plug" / "done"
        poll(lambda: done.exists() or not self.process.alive, Deadline.after(PAUSE_S))
        return ANSWER

    @property
    def written(self) -> list[str]:
        return sorted(path.name for path in self.directory.glob("plug/*/*"))


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Callable[[int], Writer]]:
    with Keeper() as keeper:
        yield lambda files: Writer(keeper, tmp_path, files)


@pytest.mark.parametrize(("number", "files"), [(1, 0), (2, 1), (4, 3)])
def test_it_is_dead_at_the_chosen_write(
    writer: Callable[[int], Writer], number: int, files: int
) -> None:
    made = writer(5)
    with CrashPoints(made.instance) as points:
        assert points.at(number, "NodePrepareResources", made.call) == Strike(True, number)
    assert made.written == [str(each) for each in range(files)]
    assert not made.process.alive


def test_a_call_with_fewer_writes_is_let_live(writer: Callable[[int], Writer]) -> None:
    made = writer(2)
    with CrashPoints(made.instance) as points:
        struck = points.at(9, "NodePrepareResources", made.call)
    assert (struck.struck, struck.writes) == (False, 4)
    assert made.process.alive


def test_it_is_dead_after_a_chosen_time_whatever_it_writes(
    writer: Callable[[int], Writer],
) -> None:
    made = writer(1000)
    with CrashPoints(made.instance) as points:
        struck = points.after(0.12, made.call)
    assert struck.struck
    assert len(made.written) <= struck.writes < 1000


def test_several_calls_may_be_made_with_one_helper(
    writer: Callable[[int], Writer],
) -> None:
    made = writer(1)
    with CrashPoints(made.instance) as points:
        assert not points.at(9, "NodePrepareResources", made.call).struck
        assert points.after(0.0, lambda: ANSWER).struck


def hooked(*, over: bool) -> tuple[Instance, list[str]]:
    """An instance whose driver kills itself, or does not, and what was done with it."""
    did: list[str] = []
    instance = SimpleNamespace(
        name="a",
        timeline=Timeline(),
        driver=SimpleNamespace(values={}),
        over=over,
        kill=lambda: did.append("killed"),
    )
    return cast("Instance", instance), did


@pytest.mark.parametrize(("over", "struck"), [(True, Strike(True, 3)), (False, Strike(False, 2))])
def test_the_hook_is_told_method_and_number_before_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, over: bool, struck: Strike
) -> None:
    monkeypatch.setattr("pytest_dra.bench.hooks.environment", lambda *_: dict(os.environ))
    note, (instance, did) = tmp_path / "note", hooked(over=over)

    def call() -> NodeReply:
        did.append(note.read_text())
        return ANSWER

    hook = ("sh", "-c", f'echo "$@" > {note}', "-")
    with CrashPoints(instance, hook=hook) as points:
        assert points.at(3, "NodePrepareResources", call) == struck
    assert did == ["NodePrepareResources 3\n", *(["killed"] if over else [])]


def test_a_hook_that_fails_is_no_fault_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_dra.bench.hooks.environment", lambda *_: dict(os.environ))
    instance, did = hooked(over=False)
    with CrashPoints(instance, hook=("false",)) as points:
        with pytest.raises(UnsupportedEnvironment, match=r"hooks\.crash_point: ended with 1"):
            points.at(1, "NodePrepareResources", lambda: ANSWER)
    assert did == []

"""Commands that are promised run at the end, however it comes, unless they are forgotten."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from tests.launch.conftest import soon

PROJECT = Path(__file__).parents[2]


def note(file: Path) -> list[str]:
    return ["sh", "-c", f'echo "$WHAT" >> {file}']


def test_a_command_runs_once_when_the_keeper_closes(tmp_path: Path) -> None:
    file = tmp_path / "said"
    with Keeper() as keeper:
        keeper.run_at_end("one", note(file), env={**os.environ, "WHAT": "first"})
        keeper.run_at_end("one", note(file), env={**os.environ, "WHAT": "instead"})
        assert not file.exists()
    assert file.read_text() == "instead\n"


def test_one_that_is_forgotten_does_not_run(tmp_path: Path) -> None:
    file = tmp_path / "said"
    with Keeper() as keeper:
        keeper.run_at_end("one", note(file), env={**os.environ, "WHAT": "first"})
        keeper.forget("one")
        keeper.forget("unknown")
    assert not file.exists()


def test_one_that_fails_or_is_not_there_keeps_no_other_from_running(tmp_path: Path) -> None:
    file = tmp_path / "said"
    with Keeper() as keeper:
        keeper.run_at_end("missing", ["/no/such/program"], env={})
        keeper.run_at_end("failing", ["false"], env=dict(os.environ))
        keeper.run_at_end("fine", note(file), env={**os.environ, "WHAT": "last"})
    assert file.read_text() == "last\n"


def test_a_keeper_that_is_closed_promises_nothing() -> None:
    keeper = Keeper()
    with pytest.raises(LaunchError, match="cannot promise to run 'true': the keeper is not"):
        keeper.run_at_end("one", ["true"], env={})


@pytest.mark.parametrize("forgotten", ["", "keeper.forget('one')\n"])
def test_it_runs_when_pytest_is_killed(forgotten: str, tmp_path: Path) -> None:
    file = tmp_path / "said"
    code = (
        "import os, sys, threading\n"
        "from pytest_dra.launch import Keeper\n"
        "keeper = Keeper(); keeper.start()\n"
        "env = {**os.environ, 'WHAT': 'killed'}\n"
        f"keeper.run_at_end('one', {note(file)!r}, env=env)\n"
        f"{forgotten}"
        f"keeper.run_at_end('two', {note(tmp_path / 'other')!r}, env=env)\n"
        "print('ready', flush=True)\n"
        "threading.Event().wait(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=PROJECT
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        os.kill(parent.pid, signal.SIGKILL)
    soon((tmp_path / "other").exists)
    assert file.exists() is not bool(forgotten)

"""Runs that are forked behave as those that are executed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_dra.waiting import Deadline
from pytest_dra.waiting import poll
from tests.sweep.forkserver import PROJECT
from tests.sweep.forkserver import ForkServer
from tests.sweep.forkserver import forkserver

LIMIT_S = 120.0

TEST = """
import os, sys, tempfile

def test_where_it_is():
    sys.stderr.write("told apart")
    assert os.getcwd() == os.environ["PLACE"]
    assert "ONLY_OUTSIDE" not in os.environ
    assert tempfile.gettempdir() == os.environ["TMPDIR"]
    assert sys.path[0] == os.getcwd()
    assert os.environ["MORE"] in sys.path
"""


def run(
    place: Path, *arguments: str, limit_s: float = LIMIT_S, server: ForkServer | None = None
) -> tuple[int, str, str]:
    env: Mapping[str, str] = {
        "PATH": os.environ["PATH"],
        "PLACE": str(place),
        "TMPDIR": str(place),
        "MORE": str(place / "more"),
        "PYTHONPATH": os.pathsep.join([str(PROJECT), str(place / "more")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = (server or forkserver()).run(
        ["-p", "no:cacheprovider", *arguments], directory=place, env=env, limit_s=limit_s
    )
    return done.returncode, done.stdout, done.stderr


def test_a_run_has_the_directory_environment_and_streams_that_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_OUTSIDE", "1")
    (tmp_path / "test_it.py").write_text(TEST)
    code, out, err = run(tmp_path, "-s", "test_it.py")
    assert (code, err) == (0, "told apart"), out
    assert "1 passed" in out
    assert [file.name for file in tmp_path.iterdir() if file.name == "__pycache__"] == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def test_it(): assert False", 1),
        ("import os, signal\ndef test_it(): os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("import os\ndef test_it(): os._exit(77)", 77),
    ],
)
def test_its_end_is_told_and_the_next_run_knows_nothing_of_it(
    tmp_path: Path, text: str, code: int
) -> None:
    (tmp_path / "test_it.py").write_text(text)
    assert run(tmp_path, "test_it.py")[0] == code
    (tmp_path / "test_it.py").write_text("def test_it(): pass")
    assert run(tmp_path, "test_it.py")[0] == 0


def test_one_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import time\ndef test_it(): time.sleep(600)")
    with pytest.raises(subprocess.TimeoutExpired):
        run(tmp_path, "test_it.py", limit_s=1.0)
    assert run(tmp_path, "--version")[0] == 0


def test_a_fork_server_that_is_gone_is_told() -> None:
    server = ForkServer()
    os.kill(server.pid, signal.SIGKILL)
    with pytest.raises(EOFError, match="gone"):
        run(Path("/"), "--version", server=server)


def test_it_ends_with_the_process_that_has_made_it() -> None:
    program = (
        "import os, sys\n"
        "from tests.sweep.forkserver import forkserver\n"
        "sys.stdout.write(str(forkserver().pid))\n"
        "sys.stdout.flush()\n"
        "os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    pid = int(done.stdout)
    status = Path(f"/proc/{pid}/cmdline")
    assert poll(
        lambda: not status.exists() or b"forkserver" not in status.read_bytes(),
        Deadline.after(LIMIT_S),
    )

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.launch import Process
from pytest_dra.waiting import Deadline
from tests.launch.conftest import soon


def _spawn(keeper: Keeper, tmp_path: Path, *argv: str, log_bytes: int = 1 << 20) -> Process:
    return keeper.spawn(
        argv, env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log", log_bytes=log_bytes
    )


def test_the_exit_code_and_the_last_words_are_kept(keeper: Keeper, tmp_path: Path) -> None:
    process = _spawn(keeper, tmp_path, "sh", "-c", "echo out; echo err >&2; exit 3")
    assert process.wait(Deadline.after(20)) == 3
    assert not process.alive
    assert process.log_tail() == "out\nerr\n"
    assert process.log_tail(4) == "err\n"
    process.signal(signal.SIGTERM)
    process.kill()


def test_a_signal_shows_as_a_negative_exit_code(keeper: Keeper, tmp_path: Path) -> None:
    process = _spawn(keeper, tmp_path, "sleep", "300")
    assert process.exit_code is None
    assert process.terminate(Deadline.after(20))
    assert process.exit_code == -signal.SIGTERM


def test_a_process_that_ignores_sigterm_is_said_to_live(keeper: Keeper, tmp_path: Path) -> None:
    process = _spawn(
        keeper, tmp_path, "sh", "-c", "trap '' TERM; echo up; while true; do sleep 0.1; done"
    )
    soon(process.log_tail)
    assert not process.terminate(Deadline.after(0.2))
    process.kill()
    assert process.exit_code == -signal.SIGKILL


def test_signals_are_at_their_defaults_and_input_is_empty(keeper: Keeper, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "ignored = [n for n in (1, 2, 3, 15) if signal.getsignal(n) is signal.SIG_IGN]\n"
        "print(ignored, sys.stdin.read() == '', os.getpid() == os.getpgid(0) == os.getsid(0))\n"
        "print(sorted(os.listdir('/proc/self/fd'), key=int)[:4])\n"
    )
    process = _spawn(keeper, tmp_path, sys.executable, "-c", code)
    assert process.wait(Deadline.after(20)) == 0
    first, second = process.log_tail().splitlines()
    assert first == "[] True True"
    assert second == "['0', '1', '2', '3']"


def test_a_hundred_megabytes_of_output_leave_beginning_and_end(
    keeper: Keeper, tmp_path: Path
) -> None:
    process = _spawn(
        keeper,
        tmp_path,
        "sh",
        "-c",
        "echo BEGIN; yes 0123456789 | head -c 100000000; echo; echo END",
        log_bytes=400_000,
    )
    assert process.wait(Deadline.after(60)) == 0
    text = (tmp_path / "log").read_text()
    assert 200_000 < len(text) <= 400_000
    assert text.startswith("BEGIN\n")
    assert text.endswith("END\n")
    assert text.count("bytes left out") == 1


def test_a_short_log_is_whole(keeper: Keeper, tmp_path: Path) -> None:
    for _ in range(2):
        process = _spawn(keeper, tmp_path, "echo", "hello")
        process.wait(Deadline.after(20))
    assert (tmp_path / "log").read_text() == "hello\nhello\n"


def test_a_log_is_not_written_through_a_link(keeper: Keeper, tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LaunchError, match="cannot start 'true'"):
        _spawn(keeper, tmp_path, "true")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("argv", "text"),
    [(["/nonexistent/driver"], "No such file"), (["/"], "denied"), (["a\0b"], "null byte")],
)
def test_what_cannot_be_executed_is_said(
    keeper: Keeper, tmp_path: Path, argv: list[str], text: str
) -> None:
    with pytest.raises(LaunchError, match=text):
        _spawn(keeper, tmp_path, *argv)
    assert _spawn(keeper, tmp_path, "true").wait(Deadline.after(20)) == 0


def test_a_big_environment_gets_through(keeper: Keeper, tmp_path: Path) -> None:
    process = keeper.spawn(
        ["sh", "-c", "echo ${#BIG1}"],
        env={**os.environ, **{f"BIG{n}": "x" * 100_000 for n in range(5)}},
        cwd=tmp_path,
        log=tmp_path / "log",
    )
    assert process.wait(Deadline.after(20)) == 0
    assert process.log_tail() == "100000\n"


def test_the_end_is_told_once(keeper: Keeper, tmp_path: Path) -> None:
    codes: list[int | None] = []
    process = _spawn(keeper, tmp_path, "sh", "-c", "sleep 0.1; exit 4")
    process.when_ended(codes.append)
    process.wait(Deadline.after(20))
    assert codes == [4]
    process.when_ended(codes.append)
    assert codes == [4, 4]


def test_many_threads_may_use_one_keeper(keeper: Keeper, tmp_path: Path) -> None:
    codes: list[int | None] = []

    def run(number: int) -> None:
        process = keeper.spawn(
            ["sh", "-c", f"exit {number}"],
            env=dict(os.environ),
            cwd=tmp_path,
            log=tmp_path / f"log{number}",
        )
        codes.append(process.wait(Deadline.after(30)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(code for code in codes if code is not None) == list(range(10))

"""Many runs beside each other: how many, and what is told of each."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.sweep import idle
from tests.sweep import judging
from tests.sweep import pool
from tests.sweep.idle import Busyness
from tests.sweep.pool import Job
from tests.sweep.pool import Pool
from tests.sweep.pool import report_of

PROJECT = Path(__file__).parents[2]
LIMIT_S = 120.0


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that sleep so many seconds and exit with a code, in place of judges."""

    def fork(arguments: Sequence[str], directory: Path, env: Mapping[str, str]) -> int:
        seconds, code = arguments
        program = f"import time, sys; time.sleep({seconds}); sys.exit({code})"
        command = [sys.executable, "-I", "-S", "-c", program]
        return os.posix_spawn(sys.executable, command, os.environ)

    monkeypatch.setattr(judging, "import_all", lambda: None)
    monkeypatch.setattr(judging, "fork", fork)
    monkeypatch.setattr(pool, "TICK_S", 0.005)
    monkeypatch.setattr(pool, "APART_S", 0.0)


def job(name: str, seconds: float, code: int, limit_s: float = LIMIT_S) -> Job:
    return Job(name, (str(seconds), str(code)), Path("/nowhere"), limit_s)


@pytest.mark.usefixtures("_small")
def test_each_run_tells_its_exit_status_and_one_that_is_too_long_none() -> None:
    jobs = [job("good", 0, 0), job("bad", 0, 3), job("long", 60, 0, limit_s=0.05)]
    assert {ended.job.name: ended.code for ended in Pool(jobs)} == {
        "good": 0,
        "bad": 3,
        "long": None,
    }


@pytest.mark.usefixtures("_small")
def test_a_run_may_be_added_while_others_run() -> None:
    runs = Pool([job("first", 0, 1)])
    names = []
    for ended in runs:
        names.append(ended.job.name)
        if ended.code:
            runs.add(job("again", 0, 0))
    assert names == ["first", "again"]


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(("busy", "most"), [(1.0, pool.FEW), (0.0, pool.MANY)])
def test_a_busy_machine_has_few_runs_and_an_idle_one_many(
    busy: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Busyness, "share", lambda self: busy)
    runs = Pool([job(str(n), 0.2, 0) for n in range(pool.MANY + 1)])
    beside = [len(runs._running) for _ in runs]
    # One has ended when it is counted.
    assert max(beside) == most - 1


@pytest.mark.usefixtures("_small")
def test_runs_that_are_given_up_are_ended() -> None:
    runs = Pool([job("short", 0, 0), job("long", 60, 0)])
    iterator = iter(runs)
    next(iterator)
    [pid] = runs._running
    assert isinstance(iterator, Generator)
    iterator.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_busyness_is_that_of_the_last_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    now, ticks = [0.0], [(0, 0)]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(idle, "_read", lambda: ticks[0])
    busyness = Busyness(1.0)
    now[0], ticks[0] = 0.5, (50, 100)
    assert busyness.share() == 1.0  # not known yet
    now[0], ticks[0] = 1.5, (100, 200)
    assert busyness.share() == 0.5
    now[0], ticks[0] = 2.5, (200, 300)
    assert busyness.share() == 0.0


def test_the_processors_have_worked_and_rested() -> None:
    idle_ticks, every = idle._read()
    assert 0 < idle_ticks < every


def test_a_run_without_a_report_says_what_it_has_printed(tmp_path: Path) -> None:
    (tmp_path / judging.OUTPUT).write_text("no such option", "utf-8")
    ended = pool.Ended(Job("x", (), tmp_path), 4, 1.0)
    with pytest.raises(RuntimeError, match=r"no report, exit status 4:\nno such option"):
        report_of(ended, "results")


def test_a_forked_judge_finds_a_fault_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.run", "CDI-002", f"--output={tmp_path / 'faults'}"],
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert "exactly its own case fails" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["faults"]

"""Many runs of the suite beside each other, as many as the machine has room for.

A run mostly waits, so that a good many of them go together; when the processors are busy no
further one begins, so that deadlines go on meaning what they mean.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections import deque
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Final

import yaml

from pytest_dra.report.writing import REPORT
from pytest_dra.waiting import pause
from tests.sweep import judging
from tests.sweep.idle import Busyness

FEW = 3
"""Runs that go on in any case, so that there is an end however busy the machine is."""

MANY = 12
"""Runs at most: each has an API server, a pytest and a few drivers in memory, 200 MB or less. With
8 two processors were half idle."""

BUSY = 0.85
"""The share of the processors' time from which on no further run begins."""

SPAN_S = 1.0
"""Over which that is measured: a run's beginning is its busiest second."""

APART_S = 0.5
"""Between two beginnings: half of that second, so that the measurement has something to see."""

TICK_S = 0.05

BENCHES = {"PYTEST_DRA_BENCHES": "2"}
"""Where nothing else is said: several runs share the machine already."""

USUAL = ("-q", "-p", "no:cacheprovider")
"""Arguments of each run."""

LIMIT_S = 900.0
"""Longest run, where a job says no other: on a busy machine some wait for many minutes."""


AGAIN: Final = "-again"
"""After the name of a job that is done for the second time: the first may have been the load."""


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """One run: its name, pytest's arguments, an empty directory for it, and its longest time."""

    name: str
    arguments: tuple[str, ...]
    directory: Path
    limit_s: float = LIMIT_S

    @property
    def subject(self) -> str:
        """The name without the mark of a second try."""
        return self.name.removesuffix(AGAIN)

    @property
    def is_first(self) -> bool:
        """True unless it is a second try."""
        return self.name == self.subject


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended; ``code`` is None if it took longer than it might, and was killed."""

    job: Job
    code: int | None
    seconds: float

    @property
    def output(self) -> str:
        """What it has printed."""
        file = self.job.directory / judging.OUTPUT
        return file.read_text("utf-8", "replace") if file.exists() else ""


def report_of(ended: Ended, results: str) -> Mapping[str, Any]:
    """The report of a run that was told to write it into ``results`` of its directory.

    Raises:
        RuntimeError: there is none; the text is what the run has printed.
    """
    file = ended.job.directory / results / REPORT
    if ended.code is None:
        raise RuntimeError(f"no end within {ended.job.limit_s:g} s")
    if not file.exists():
        raise RuntimeError(f"no report, exit status {ended.code}:\n{ended.output}")
    return read_report(file)


def read_report(file: Path) -> Mapping[str, Any]:
    """A report that is there, quickly."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    report: Mapping[str, Any] = yaml.load(file.read_bytes(), Loader=loader)  # noqa: S506 (safe)
    return report


class Pool:
    """See the module. To be iterated once; jobs may be added meanwhile."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._waiting = deque(jobs)
        self._running: dict[int, tuple[Job, float]] = {}
        self._killed: set[int] = set()
        self._busyness = Busyness(SPAN_S)
        self._last = 0.0

    def add(self, job: Job) -> None:
        """Have one more run, after those that wait."""
        self._waiting.append(job)

    def __iter__(self) -> Iterator[Ended]:
        judging.import_all()
        try:
            while self._waiting or self._running:
                if self._has_room():
                    self._begin(self._waiting.popleft())
                yield from self._ended()
                pause(TICK_S)
        finally:
            for pid in self._running:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _has_room(self) -> bool:
        busy = self._busyness.share()
        if not self._waiting or len(self._running) >= MANY:
            return False
        if len(self._running) < FEW:
            return True
        return busy < BUSY and time.monotonic() - self._last >= APART_S

    def _begin(self, job: Job) -> None:
        self._last = time.monotonic()
        pid = judging.fork(job.arguments, job.directory, _environment())
        self._running[pid] = job, self._last

    def _ended(self) -> Iterator[Ended]:
        for pid, (job, began) in list(self._running.items()):
            took = time.monotonic() - began
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                del self._running[pid]
                killed = pid in self._killed
                self._killed.discard(pid)
                yield Ended(job, None if killed else os.waitstatus_to_exitcode(status), took)
            elif took > job.limit_s and pid not in self._killed:
                self._killed.add(pid)
                os.kill(pid, signal.SIGKILL)


def _environment() -> Mapping[str, str]:
    return {name: value for name, value in BENCHES.items() if name not in os.environ}

"""A clock that is turned by hand, and only when all threads of the process have come to rest."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_dra.kubelet import Clock
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause

LATE_S = 0.009
"""How late a timer fires: on a real node nothing falls due at exactly the same moment, and the
pauses of the kubelet lie so close to the turns of its loop that this decides between two turns."""

LOOK_S = 0.0005
"""Pause between two looks at the threads; whoever waits for the interpreter gets it meanwhile."""

ARRIVE_S = 2.0
"""Longest wait, in real time, for what has been sent to arrive: this only bounds it."""

QUIET_LOOKS = 3
"""Looks in a row that must find every thread asleep."""

REST_LIMIT_S = 60.0
"""A process that is busy for so long never comes to rest."""

REAL_LIMIT_S = 3600.0
"""A wait on the turned clock ends when it is turned, so this is only a bound."""

WATCHER = "kubelet-connection"
"""Name of the threads that look at connections."""

TASKS = Path("/proc/self/task")
"""The threads of this process (Linux)."""


class Restless(Exception):
    """Some thread of the process runs on and on."""


def rest() -> None:
    """Wait until every other thread of the process sleeps.

    What one thread has written to a socket wakes the one that reads it at once, so that nothing is
    under way between threads of this process when all of them sleep.
    """
    deadline = Deadline.after(REST_LIMIT_S)
    quiet, last = 0, -1
    while quiet < QUIET_LOOKS:
        if deadline.passed:
            raise Restless(f"threads of this process are busy for {REST_LIMIT_S:g} s")
        pause(LOOK_S)
        switches = _switches_if_asleep()
        quiet = quiet + 1 if switches is not None and (switches == last or quiet == 0) else 0
        last = -1 if switches is None else switches


def _switches_if_asleep() -> int | None:
    """How often all other threads have gone to sleep so far; None if one of them is awake.

    Those that look at a connection every ``WATCH_S`` are not counted: many of them are awake too
    often, and they sleep when nothing has happened to their connection.
    """
    own = str(threading.get_native_id())
    watching = {str(each.native_id) for each in threading.enumerate() if each.name == WATCHER}
    total = 0
    for task in TASKS.iterdir():
        if task.name == own:
            continue
        try:
            status = (task / "status").read_text()
        except OSError:
            return None
        for line in status.splitlines():
            name, _, value = line.partition(":")
            if name == "State" and value.split()[0] != "S":
                return None
            if name == "voluntary_ctxt_switches" and task.name not in watching:
                total += int(value)
    return total


class TurnedClock(Clock):
    """Stands still until it is turned; then it stops at each moment for which somebody waits.

    Args:
        start: what it shows at first.
        seen: how many calls run on the other side.
    """

    def __init__(self, start: float, seen: Callable[[], int] = lambda: 0) -> None:
        self._now = start
        self._seen = seen
        self._calls = 0
        self._lock = threading.Lock()
        self._waits: dict[int, tuple[float, threading.Condition]] = {}
        self._acts: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._real = 0

    def now(self) -> float:
        """What it shows."""
        return self._now

    def wait(self, changed: threading.Condition, span_s: float) -> None:
        """See :class:`Clock`."""
        number = next(self._numbers)
        with self._lock:
            self._waits[number] = (self._now + span_s + LATE_S, changed)
        changed.wait(REAL_LIMIT_S)
        with self._lock:
            self._waits.pop(number, None)

    def at(self, moment: float, act: Callable[[], None]) -> None:
        """Have ``act`` done at ``moment``, by the thread that turns the clock."""
        with self._lock:
            heapq.heappush(self._acts, (moment, next(self._numbers), act))

    @contextmanager
    def real(self) -> Iterator[None]:
        """See :class:`Clock`."""
        with self._lock:
            self._real += 1
        try:
            yield
        finally:
            with self._lock:
                self._real -= 1

    @contextmanager
    def calling(self) -> Iterator[None]:
        """See :class:`Clock`."""
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1

    def turn_to(self, moment: float) -> None:
        """Let time pass until ``moment``, everything that falls due on the way included."""
        while True:
            self._rest()
            due = self._next_due()
            if due is None or due > moment:
                self._now = max(self._now, moment)
                return
            self._now = max(self._now, due)
            acted = False
            while self._act():
                acted = True
            if not acted:
                self._wake()

    def _rest(self) -> None:
        deadline = Deadline.after(REST_LIMIT_S)
        rest()
        while self._real:
            if deadline.passed:
                raise Restless(f"something takes more than {REST_LIMIT_S:g} s of real time")
            pause(LOOK_S)
            rest()
        # Requests and answers are under way as long as the two sides do not agree.
        arrive = Deadline.after(ARRIVE_S)
        while self._calls != self._seen() and not arrive.passed:
            pause(LOOK_S)
            rest()

    def _next_due(self) -> float | None:
        with self._lock:
            dues = [due for due, _ in self._waits.values()]
            dues += [due for due, _, _ in self._acts[:1]]
        return min(dues, default=None)

    def _act(self) -> bool:
        """Do the next thing if it is due."""
        with self._lock:
            if not self._acts or self._acts[0][0] > self._now:
                return False
            _, _, act = heapq.heappop(self._acts)
        act()
        return True

    def _wake(self) -> None:
        with self._lock:
            woken = {
                number: changed
                for number, (due, changed) in self._waits.items()
                if due <= self._now
            }
            for number in woken:
                del self._waits[number]
        for changed in woken.values():
            with changed:
                changed.notify_all()

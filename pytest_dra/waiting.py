"""Deadlines and waits: the only place of the project that waits or sleeps.

Every wait has a deadline and ends with the event it waits for; what is polled here is only what
offers no event (files, sockets and processes of the driver under test).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TypeVar

from pytest_dra.timeline import Timeline

T = TypeVar("T")

POLL_S = 0.02
"""Pause between two looks at what offers no event: short against deadlines of 1 s and more."""

LOOK_AGAIN_S = 0.25
"""Longest sleep between two looks at a timeline condition that also depends on the clock."""


@dataclasses.dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock, and the span that it was made from (for messages)."""

    at: float
    span_s: float

    @classmethod
    def after(cls, span_s: float) -> Deadline:
        """The moment ``span_s`` seconds from now."""
        return cls(time.monotonic() + span_s, span_s)

    def left_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        """True once no time is left."""
        return time.monotonic() >= self.at


def poll(look: Callable[[], T | None], deadline: Deadline, *, every_s: float = POLL_S) -> T | None:
    """Call ``look`` until it returns something true; None when the deadline passes first.

    ``look`` is called at least once, and once more at the deadline, so that a slow machine does not
    miss what is already there.
    """
    while True:
        found = look()
        if found:
            return found
        if deadline.passed:
            return None
        time.sleep(min(every_s, deadline.left_s()) or 0.001)


def until(timeline: Timeline, look: Callable[[], T | None], deadline: Deadline) -> T | None:
    """Like :func:`poll`, but wakes with each new entry of the timeline."""
    while True:
        before = len(timeline)
        found = look()
        if found:
            return found
        if deadline.passed:
            return look() or None
        with timeline.changed:
            if len(timeline) == before:
                timeline.changed.wait(min(deadline.left_s(), LOOK_AGAIN_S))


def quiet(
    timeline: Timeline, last: Callable[[], float], *, for_s: float, deadline: Deadline
) -> bool:
    """Wait until ``last()`` (a time on the timeline's clock) lies ``for_s`` seconds back.

    Returns False when the deadline passes first, which means that it never became quiet.
    """
    return until(timeline, lambda: timeline.now() - last() >= for_s, deadline) is not None


def pause(seconds: float) -> None:
    """Let time pass where the contract itself prescribes a pause (a kubelet's retry interval)."""
    time.sleep(seconds)

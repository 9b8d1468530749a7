"""The time that the stand-in lives by, so that tests can turn it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """The monotonic clock. A test replaces it by one that it turns itself.

    Pauses, deadlines and timers of the stand-in go by it; gRPC's own connecting does not.
    """

    def now(self) -> float:
        """Seconds; only differences mean anything."""
        return time.monotonic()

    def wait(self, changed: threading.Condition, span_s: float) -> None:
        """Wait until ``changed`` is notified or ``span_s`` seconds have passed.

        The caller holds ``changed``. It may also return for no reason, like a condition does.
        """
        changed.wait(span_s)

    @contextmanager
    def real(self) -> Iterator[None]:
        """What is waited for in here takes real time: a turned clock stands still meanwhile."""
        yield

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A unary call is under way in here, which a turned clock may want to know."""
        yield

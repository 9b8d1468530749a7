"""How busy the machine is, from the counters of its processors."""

from __future__ import annotations

import time
from pathlib import Path

STAT = Path("/proc/stat")

IDLE = (3, 4)
"""Columns of idle time and of waiting for disks, after the name of the line."""

COUNTED = 8
"""Columns up to stolen time; those of guests are counted in user time already."""


class Busyness:
    """The share of all processors' time that was used lately, by whomever."""

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._looks = [(time.monotonic(), *_read())]

    def share(self) -> float:
        """Between 0 and 1, over the last ``span_s`` seconds or a little more; 1 before that."""
        now = time.monotonic()
        self._looks.append((now, *_read()))
        while len(self._looks) > 1 and self._looks[1][0] <= now - self._span_s:
            self._looks.pop(0)
        began, idle_before, all_before = self._looks[0]
        _, idle, every = self._looks[-1]
        if began > now - self._span_s or every == all_before:
            return 1.0
        return 1.0 - (idle - idle_before) / (every - all_before)


def _read() -> tuple[int, int]:
    """Ticks of idle time and of all time since the machine was started."""
    ticks = [int(word) for word in STAT.read_text().partition("\n")[0].split()[1 : 1 + COUNTED]]
    return sum(ticks[column] for column in IDLE), sum(ticks)

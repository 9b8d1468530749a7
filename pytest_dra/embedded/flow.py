"""How many requests of one client are served at once, and how many for ever.

A client that asks without end would fill the timeline, and nobody else would be served. Clusters
queue its requests (API Priority and Fairness); so do we, far above what any driver needs.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable
from typing import Final

BURST: Final = 4000
"""Requests of one client that nothing holds up: thousands of devices, published several times."""

PER_S: Final = 50.0
"""What is added each second: ten times the rate of Kubernetes' client library by default."""

LONGEST_S: Final = 10.0
"""No single request is held up longer; whoever sends many at once waits with all of them."""


@dataclasses.dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Flow:
    """Holds up the requests of clients that send too many; used by the server's loop alone.

    Args:
        limited: true for the identities that are held up.
        now: seconds on a clock that only goes forward.
    """

    def __init__(
        self,
        limited: Callable[[str], bool],
        *,
        burst: int = BURST,
        per_s: float = PER_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limited = limited
        self._burst = burst
        self._per_s = per_s
        self._now = now
        self._buckets: dict[str, _Bucket] = {}

    def delay_s(self, identity: str) -> float:
        """Count one request; for how long it has to wait, mostly not at all."""
        if not self._limited(identity):
            return 0.0
        now = self._now()
        bucket = self._buckets.setdefault(identity, _Bucket(self._burst, now))
        bucket.left = min(self._burst, bucket.left + (now - bucket.at) * self._per_s) - 1
        bucket.at = now
        # What has waited its longest is not owed any more.
        bucket.left = max(bucket.left, -LONGEST_S * self._per_s)
        return max(0.0, -bucket.left / self._per_s)

    async def take(self, identity: str) -> None:
        """Wait until a request of this identity may be served."""
        delay_s = self.delay_s(identity)
        if delay_s > 0:
            await asyncio.sleep(delay_s)


def nobody(identity: str) -> bool:
    """Limits no identity."""
    del identity
    return False

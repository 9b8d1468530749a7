"""What is chance in the kubelet, so that a test can decide it."""

from __future__ import annotations

import random
from collections.abc import Iterable

JITTER = 0.5
"""Pauses of pods are longer by up to this share (pkg/kubelet, pod_workers.go: both jitters)."""


class Chance:
    """Draws by itself. A test replaces it by one that knows what the real kubelet drew."""

    def pause(self, pod: str, base_s: float) -> float:
        """A pause until the pod (its uid) is looked at again, from ``base_s`` on."""
        return base_s * (1 + JITTER * random.random())  # noqa: S311 - chance, not secrecy

    def order(self, pod: str, drivers: Iterable[str], *, prepares: bool) -> list[str]:
        """The drivers of a pod's claims, in which order they are called."""
        mixed = list(drivers)
        random.shuffle(mixed)
        return mixed

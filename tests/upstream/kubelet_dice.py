"""What the real kubelet drew by chance, as far as its recording shows it.

Pauses of pods are drawn within bounds, and the drivers of a pod are called in any order. Ours gets
the same draw where it is a legal one, and something else where no legal draw explains what was
recorded, which then is a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Iterable

from pytest_dra.kubelet.chance import JITTER
from pytest_dra.kubelet.chance import Chance
from pytest_dra.spec import Json

SLACK_S = 1.1
"""A pause ends when the kubelet looks at its queue, up to a turn of its loop later."""

TRIGGERED_S = 1.5
"""What follows so soon upon something that happened to the pod was no pause's end."""

METHODS = {True: "NodePrepareResources", False: "NodeUnprepareResources"}


class RecordedChance(Chance):
    """Draws like the recording.

    Args:
        played: how often a plugin (label) has got a method so far.
    """

    def __init__(
        self, scenario: Json, now: Callable[[], float], played: Callable[[str, str], int]
    ) -> None:
        self._scenario = scenario
        self._now = now
        self._played = played

    def pause(self, pod: str, base_s: float) -> float:
        """A legal pause after which something was recorded, now or after some more pauses."""
        longest = base_s * (1 + JITTER)
        for moment in self._moments(pod.removeprefix("uid-of-")):
            gap = moment - self._now()
            if gap < base_s - SLACK_S:
                continue
            count = max(1, math.ceil((gap - SLACK_S) / longest))
            if count * base_s - SLACK_S <= gap:
                first = gap - (count - 1) * longest
                return min(max(base_s, first), longest)
        return base_s * (1 + JITTER / 2)

    def order(self, pod: str, drivers: Iterable[str], *, prepares: bool) -> list[str]:
        """By the time at which each was called for the next time."""
        method = METHODS[prepares]
        return sorted(drivers, key=lambda driver: self._next_call(driver, method))

    def _moments(self, pod: str) -> list[float]:
        """When something was seen of a pod that nothing else had set off."""
        claims = {name for name, _, _ in self._scenario["pods"].get(pod, {"claims": ()})["claims"]}
        seen = [
            at
            for at, lane, what in self._scenario["saw"]
            if lane in (f"events/{pod}", f"status/{pod}")
            or (what[0] == "call" and claims & set(what[2].get("claims", ())))
        ]
        acts = [act[0] for act in self._scenario["do"] if act[-1] == pod and act[1] != "exit"]
        return [at for at in seen if not any(0 <= at - act <= TRIGGERED_S for act in acts)]

    def _next_call(self, driver: str, method: str) -> float:
        for label, plugin in self._scenario["plugins"].items():
            if plugin["driver"] != driver:
                continue
            times = [
                at
                for at, lane, what in self._scenario["saw"]
                if lane == f"{label}/dra" and what[:2] == ["call", method]
            ]
            number = self._played(label, method)
            if number < len(times):
                return float(times[number])
        return math.inf

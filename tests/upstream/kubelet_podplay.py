"""API server and container runtime of a play, by what the recording says of its pods."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from pytest_dra.kubelet import ClaimRef
from pytest_dra.kubelet.podhost import ClaimObject
from pytest_dra.kubelet.podhost import ClaimUnreadable
from pytest_dra.kubelet.podhost import ClaimUse
from pytest_dra.kubelet.podhost import Containers
from pytest_dra.kubelet.podhost import Pod
from pytest_dra.kubelet.podhost import PodClaim
from pytest_dra.kubelet.podhost import PodStatus
from pytest_dra.kubelet.podhost import StatusRefused
from pytest_dra.spec import Json
from tests.upstream.kubelet_clock import TurnedClock

MESSAGE_BYTES = 1024
"""Longest message of a device's health that the API server takes."""


@dataclasses.dataclass(slots=True)
class _Live:
    """A pod and its containers now."""

    pod: Pod
    containers: Containers = Containers.NONE
    has_run: bool = False
    deleted_at: float = 0.0
    is_stopped: bool = False
    is_to_exit: bool = False
    shown: list[Any] = dataclasses.field(default_factory=list)


class PlayedHost:
    """See :class:`pytest_dra.kubelet.podhost.PodHost`.

    Args:
        about: the scenario's pods.
        note: writes down what the kubelet tells: lane and entry.
        tell: the kubelet, which is told of pods (update) and containers (noticed).
        with_health: the health of devices counts.
    """

    def __init__(
        self,
        namespace: str,
        about: Json,
        *,
        clock: TurnedClock,
        note: Callable[..., None],
        update: Callable[[Pod], None],
        noticed: Callable[[str], None],
        with_health: bool,
    ) -> None:
        self._namespace = namespace
        self._about = about
        self._clock = clock
        self._note = note
        self._update = update
        self._noticed = noticed
        self._with_health = with_health
        self._live: dict[str, _Live] = {}
        self._gone: dict[str, _Live] = {}
        self._forbidden: dict[str, str] = {}
        self._ended = threading.Condition()

    # ------------------------------------------------------------ acts of the play
    def do_pod(self, name: str) -> None:
        about = self._about[name]
        claims = tuple(
            PodClaim(entry, claim)
            for (entry, _), (claim, _, _) in zip(about["uses"], about["claims"], strict=True)
        )
        uses = tuple(ClaimUse(entry, request) for entry, request in about["uses"])
        pod = Pod(
            uid=f"uid-of-{name}",
            namespace=self._namespace,
            name=name,
            claims=claims,
            uses=(("main", uses),),
        )
        self._live[name] = _Live(pod)
        self._update(pod)

    def do_touch(self, name: str) -> None:
        if name in self._live:
            self._update(self._live[name].pod)

    def do_delete(self, name: str) -> None:
        live = self._live[name]
        live.deleted_at = self._clock.now()
        live.pod = dataclasses.replace(live.pod, deleted=True)
        self._update(live.pod)

    def do_force(self, name: str) -> None:
        live = self._gone[name] = self._live.pop(name)
        live.deleted_at = self._clock.now()
        live.pod = dataclasses.replace(live.pod, removed=True)
        self._update(live.pod)

    def do_exit(self, name: str) -> None:
        live = self._live.get(name)
        if live is None:
            return
        live.is_to_exit = True
        if live.containers is Containers.RUNNING:
            live.containers = Containers.ENDED
            self._noticed(live.pod.uid)

    def do_lose(self, name: str) -> None:
        if name in self._live:
            self._live[name].containers = Containers.NONE
            self._noticed(self._live[name].pod.uid)

    def do_forbid(self, claim: str, text: str) -> None:
        self._forbidden[claim] = text

    def do_allow(self, claim: str) -> None:
        del self._forbidden[claim]

    def results(self, claim: str) -> list[list[str]]:
        """Driver and device of each result of a claim, as the newest pod has it."""
        found: list[list[str]] = []
        for about in self._about.values():
            for name, _, results in about["claims"]:
                found = results if name == claim else found
        return found

    # ------------------------------------------------------------ what a kubelet asks
    def pods(self) -> Sequence[Pod]:
        return [live.pod for live in self._live.values()]

    def claim(self, pod: Pod, claim: PodClaim) -> ClaimObject:
        if claim.name in self._forbidden:
            raise ClaimUnreadable(self._forbidden[claim.name])
        about = self._about[pod.name]
        uid, results = next(
            (uid, results) for name, uid, results in about["claims"] if name == claim.name
        )
        return ClaimObject(
            ref=ClaimRef(pod.namespace, uid, claim.name),
            drivers=tuple(dict.fromkeys(driver for driver, _ in results)),
            reserved=about["reserved"],
        )

    def tell(self, pod: Pod, reason: str, message: str) -> None:
        del reason
        self._note(f"events/{pod.name}", "event", message)

    def show(self, pod: Pod, status: PodStatus) -> None:
        listed = [
            [each.name, [[r.resource_id, r.health, r.message] for r in each.resources]]
            for each in (status.resources if self._with_health else ())
        ]
        for _, resources in listed:
            for _, _, message in resources:
                if len((message or "").encode()) > MESSAGE_BYTES:
                    raise StatusRefused("may not be more than 1024 bytes")
        live = self._live.get(pod.name)
        if live is None or status.phase == "Pending" or live.shown == [status.phase, listed]:
            return
        live.shown = [status.phase, listed]
        if status.phase in ("Succeeded", "Failed"):
            live.pod = dataclasses.replace(live.pod, ended=True)
        self._note(f"status/{pod.name}", "status", status.phase, listed)

    def remove(self, pod: Pod) -> None:
        self._live.pop(pod.name, None)
        self._note(f"status/{pod.name}", "gone")

    def containers(self, pod: Pod) -> Containers:
        return self._find(pod).containers

    def last_phase(self, pod: Pod) -> str:
        phase: str = self._about[pod.name]["phase"]
        return phase

    def start(self, pod: Pod) -> None:
        live = self._find(pod)
        live.containers = Containers.STARTING
        starts = self._about[pod.name]["starts"]
        if starts is None:
            return

        def run() -> None:
            if live.containers is Containers.STARTING:
                live.containers = Containers.ENDED if live.is_to_exit else Containers.RUNNING
                live.has_run = True
                self._noticed(pod.uid)

        self._clock.at(self._clock.now() + starts, run)

    def kill(self, pod: Pod) -> None:
        live = self._find(pod)
        before = live.containers
        if before is Containers.RUNNING:
            self._wait_until(live.deleted_at + self._about[pod.name]["stops"])
        if before is not Containers.NONE:
            live.containers = Containers.ENDED if live.has_run else Containers.NONE
            if not live.is_stopped:
                live.is_stopped = True
                self._noticed(pod.uid)

    def _find(self, pod: Pod) -> _Live:
        return self._live.get(pod.name) or self._gone[pod.name]

    def _wait_until(self, moment: float) -> None:
        with self._ended:
            while (left := moment - self._clock.now()) > 0:
                self._clock.wait(self._ended, left)

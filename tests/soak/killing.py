"""A driver that is killed again and again, what it has promised, and what it has lost."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pytest_dra.bench import Bench
from pytest_dra.bench import Claim
from pytest_dra.bench import Device
from pytest_dra.bench.cycle import unresolved
from pytest_dra.checks import cdi_specs
from pytest_dra.checks.prepare import PREPARE
from pytest_dra.checks.prepare import UNPREPARE
from pytest_dra.spec import Json
from pytest_dra.wire.answers import NodeReply

DEVICES = 4
"""Claims that live at the same time, each with a device of its own."""

IN_START = 0.15
"""Share of the kills that come while the driver starts."""

SLOWEST = 1.3
"""The latest kill, in times of what the start or the calls took when nobody was killed."""

MEASURED = 5
"""Rounds of calls from which it is known how long they take."""

IDLE_S = 0.05
"""The latest kill of a driver that has nothing to do."""

PUBLISH_S = 20.0
"""How long slices may be wrong after a start."""

UNFINISHED = ".tmp"
"""Suffix of files that the fake driver has not finished."""


@dataclasses.dataclass(slots=True)
class Place:
    """A device, the claim that has it, the ids of its answer, and the call without an answer."""

    device: Device
    claim: Claim | None = None
    ids: tuple[str, ...] = ()
    asked: str = ""


class Killing:
    """See the module.

    Args:
        bench: with a driver that keeps nothing of a claim but in paths with its uid.
        seed: decides what is done and when it is killed.
    """

    def __init__(self, bench: Bench, seed: int) -> None:
        self._bench = bench
        self._random = random.Random(seed)  # noqa: S311 (a plan to be repeated, no secret)
        self._places = [Place(device) for device in bench.devices(DEVICES)[:DEVICES]]
        self._slices = content(bench.published())
        self._gone: list[str] = []
        self._calls_s, self._start_s = self._measure_calls(), self._measure_start()
        self._empty = set(bench.instance.tree().sizes)
        self.moments: Counter[str] = Counter()
        self.losses: list[str] = []

    def round(self, number: int) -> None:
        """One kill, and a look at everything afterwards."""
        found = len(self.losses)
        with self._bench.timeline.disturbance(f"kill {number}"):
            if self._random.random() < IN_START:
                self._kill_in_start()
            else:
                self._kill_in_calls()
            self._start()
            self._must_be_kept()
            self._nothing_may_be_left()
            self._slices_must_stay()
            for place in self._places:
                self._ask_again(place)
        self.losses[found:] = [f"kill {number}: {each}" for each in self.losses[found:]]

    def end(self) -> None:
        """Release everything; then the directories are as they were in the beginning."""
        for place in self._places:
            if place.claim is not None:
                self._call(place, UNPREPARE)
        self._nothing_may_be_left()
        more = sorted(set(self._bench.instance.tree().sizes) - self._empty)
        if more:
            self.losses.append(f"left at the end: {', '.join(more)}")

    # before

    def _measure_calls(self) -> float:
        """Seconds of one call on each device at the same time."""
        times = []
        for _ in range(MEASURED):
            claims = [self._bench.claim([place.device]) for place in self._places]
            for call in (self._bench.prepare, self._bench.unprepare):
                with ThreadPoolExecutor(DEVICES) as pool:
                    times.append(max(reply.duration_s for reply in pool.map(call, claims)))
            for claim in claims:
                self._bench.claims.delete(claim)
        return sorted(times)[len(times) // 2]

    def _measure_start(self) -> float:
        self._bench.instance.kill()
        self._start()
        return self._bench.timeline.now() - self._bench.instance.began

    # the kills

    def _kill_in_start(self) -> None:
        self._bench.instance.kill()
        self._bench.instance.start_again()
        with self._killed_within(SLOWEST * self._start_s) as struck:
            struck.wait()
        self.moments["in a start"] += 1

    def _kill_in_calls(self) -> None:
        chosen = self._random.sample(self._places, self._random.randint(0, len(self._places)))
        for place in chosen:
            place.asked = PREPARE if place.claim is None else UNPREPARE
            place.claim = place.claim or self._bench.claim([place.device])
        with ThreadPoolExecutor(DEVICES) as pool:
            latest_s = SLOWEST * self._calls_s if chosen else IDLE_S
            with self._killed_within(latest_s) as struck:
                list(pool.map(lambda place: self._call(place, place.asked, may_fail=True), chosen))
                struck.wait()
        unanswered = sum(bool(place.asked) for place in chosen)
        self.moments["in calls" if unanswered else "behind calls" if chosen else "at rest"] += 1

    @contextlib.contextmanager
    def _killed_within(self, latest_s: float) -> Iterator[threading.Event]:
        """SIGKILL to all processes of the driver at a random moment; the event is set then."""
        pids = [process.pid for process in self._bench.instance.driver.processes.values()]
        struck = threading.Event()

        def strike() -> None:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
            struck.set()

        timer = threading.Timer(self._random.uniform(0.0, latest_s), strike)
        timer.start()
        try:
            yield struck
        finally:
            timer.join()

    def _start(self) -> None:
        instance = self._bench.instance
        instance.kill()
        instance.start_again()
        self._bench.forget()
        if instance.plugin() is None:
            self.losses.append(f"the driver does not come back: {instance.obituary()}")

    # the calls

    def _call(self, place: Place, method: str, *, may_fail: bool = False) -> None:
        """Make a call; only what is answered becomes true."""
        claim = place.claim
        if claim is None:
            return
        call = self._bench.prepare if method == PREPARE else self._bench.unprepare
        reply: NodeReply = call(claim)
        error = reply.error_for(claim.uid)
        if error:
            if not may_fail:
                self.losses.append(f"{method} of {claim}: {error}")
            return
        place.asked = ""
        if method == UNPREPARE:
            self._gone.append(claim.uid)
            self._bench.claims.delete(claim)
            place.claim, place.ids = None, ()
            return
        ids = tuple(cdi_specs.ids_of(reply, claim.uid))
        if place.ids and ids != place.ids:
            self.losses.append(f"{claim}: ids {', '.join(ids)}, before {', '.join(place.ids)}")
        place.ids = ids
        self._must_resolve(place)

    def _ask_again(self, place: Place) -> None:
        """A prepared claim is prepared once more; an open call is made again, or undone."""
        method = place.asked or PREPARE
        if place.asked == PREPARE:
            method = self._random.choice((PREPARE, UNPREPARE))
        self._call(place, method)

    # what must be true

    def _must_be_kept(self) -> None:
        for place in self._places:
            if place.claim is not None and not place.asked:
                self._must_resolve(place)

    def _must_resolve(self, place: Place) -> None:
        missing = unresolved(self._bench.instance.cdi(), list(place.ids))
        if missing or not place.ids:
            self.losses.append(f"{place.claim}: no CDI device for {', '.join(missing) or 'it'}")

    def _nothing_may_be_left(self) -> None:
        tree = self._bench.instance.tree()
        left = tree.naming(self._gone) | {path for path in tree.sizes if path.endswith(UNFINISHED)}
        self.losses += [f"left: {path}" for path in sorted(left)]

    def _slices_must_stay(self) -> None:
        now = self._bench.instance.wait_for_slices(
            lambda slices: content(slices) == self._slices, within_s=PUBLISH_S
        )
        if content(now) != self._slices:
            self.losses.append(f"slices: {content(now)}, before {self._slices}")


def content(slices: Sequence[Json]) -> list[tuple[str, str]]:
    """Names and contents of slices, to be compared."""
    return sorted((each["metadata"]["uid"], repr(each["spec"])) for each in slices)


Report = Callable[[str], object]


def kills(bench: Bench, *, count: int, seed: int, report: Report) -> Killing:
    """Kill the driver of a bench ``count`` times; every loss is reported when it is found."""
    killing = Killing(bench, seed)
    for number in range(1, count + 1):
        told = len(killing.losses)
        killing.round(number)
        for loss in killing.losses[told:]:
            report(loss)
    told = len(killing.losses)
    killing.end()
    for loss in killing.losses[told:]:
        report(loss)
    return killing

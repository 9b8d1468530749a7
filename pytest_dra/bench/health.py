"""The health streams of a run: the kubelet's own, and those that cases open besides."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.presence import Presence
from pytest_dra.checks import health
from pytest_dra.checks.health import BEYOND
from pytest_dra.checks.health import Name
from pytest_dra.checks.health import Stream
from pytest_dra.checks.pools import newest
from pytest_dra.kubelet.clock import Clock
from pytest_dra.kubelet.health import ADVERTISED_SINCE
from pytest_dra.kubelet.health import HEALTH_PREFERENCE
from pytest_dra.kubelet.health import UNADVERTISED
from pytest_dra.kubelet.health import HealthWatch
from pytest_dra.kubelet.settings import release
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import until

FIRST_S: Final = 10.0
"""Longest wait for the first message of a stream (HLTH-001)."""

_numbers = itertools.count(1)


def known(bench: Bench) -> tuple[str, ...]:
    """The services that the kubelet under test knows, the one that it prefers first."""
    new = release(bench.kubernetes) >= ADVERTISED_SINCE
    return HEALTH_PREFERENCE if new else (UNADVERTISED,)


def offered(bench: Bench) -> list[str]:
    """Those of them that the driver advertises; all of them for a kubelet that does not ask."""
    if release(bench.kubernetes) < ADVERTISED_SINCE:
        return [UNADVERTISED]
    versions = bench.answering().info().supported_versions
    return [name for name in known(bench) if name in versions]


def all_streams(bench: Bench) -> list[Stream]:
    """Every stream of the run so far, but those of instances that go by another name."""
    every = health.streams(bench.timeline.all(), now=bench.timeline.now())
    return [stream for stream in every if stream.driver == bench.driver]


def _kubelets(bench: Bench) -> list[Stream]:
    """The kubelet's streams of the process that runs now."""
    instance = bench.instance
    entries = bench.timeline.all(since=instance.started_serial)
    every = health.streams(entries, now=bench.timeline.now())
    return [stream for stream in every if stream.instance == instance.name]


def _is_given_up(some: list[Stream]) -> bool:
    ended = some[-1].ended if some else None
    return ended is not None and ended.event.code == health.UNIMPLEMENTED


def read(bench: Bench, enough: Callable[[list[Stream]], bool], *, leases: float) -> list[Stream]:
    """Read the kubelet's streams until they are enough, or have lasted for so many leases.

    Returns them as they are then. There is nothing to wait for where the kubelet has given up, or
    the driver has ended.
    """
    instance = bench.instance
    instance.plugin()
    most = instance.kubelet.settings.health_pause_s + FIRST_S
    deadline = Deadline.after(most + leases * health.LEASE_S)

    def seen() -> bool:
        some = _kubelets(bench)
        spent = sum(stream.until - stream.began for stream in some)
        return (
            enough(some)
            or spent >= leases * health.longest_lease_s(some)
            or _is_given_up(some)
            or instance.over
        )

    until(bench.timeline, seen, deadline)
    return _kubelets(bench)


def read_all(bench: Bench, wanted: Collection[Name]) -> list[Stream]:
    """Read until each of these devices was reported, for one lease and a bit more at most."""
    return read(bench, lambda some: health.names(some) >= set(wanted), leases=BEYOND)


def read_long(bench: Bench) -> list[Stream]:
    """Every stream of the run, of which one has gone on for a lease and more after a report.

    Where streams end by themselves those of the process that runs now are taken together.
    """

    def long(some: list[Stream]) -> bool:
        told = sum(stream.told_s for stream in some)
        return told >= BEYOND * health.longest_lease_s(some)

    if not any(long([stream]) for stream in all_streams(bench)):
        read(bench, long, leases=BEYOND + FIRST_S / health.LEASE_S)
    return all_streams(bench)


def own_devices(bench: Bench) -> set[Name]:
    """The devices of the node's own slices, as they are published now."""
    bench.wait_published()
    node = bench.instance.node
    return {
        (str(item["spec"]["pool"]["name"]), str(device["name"]))
        for item in newest(bench.instance.slices())
        if item["spec"].get("nodeName") == node
        for device in item["spec"].get("devices") or []
    }


def presence(bench: Bench) -> Presence:
    """When each device of the driver was published."""
    return Presence(bench.timeline, bench.driver)


def epoch(bench: Bench) -> float:
    """The Unix time at which the timeline began, as far as the machine's clock has not been set."""
    return time.time() - bench.timeline.now()


class Watching:
    """A stream that a case has opened, on a connection of its own."""

    def __init__(self, bench: Bench, label: str, since: int) -> None:
        self._bench = bench
        self._label = label
        self._since = since

    def streams(self) -> list[Stream]:
        """The stream as it is now; nothing where it has not been opened yet."""
        timeline = self._bench.timeline
        every = health.streams(timeline.all(since=self._since), now=timeline.now())
        return [stream for stream in every if stream.instance == self._label][:1]

    def wait(self, wanted: Callable[[Stream], bool], within_s: float) -> list[Stream]:
        """Wait until the stream is as wanted, has ended, or time is up."""

        def seen() -> bool:
            return any(wanted(stream) or stream.ended for stream in self.streams())

        until(self._bench.timeline, seen, Deadline.after(within_s))
        return self.streams()

    def wait_first(self, within_s: float = FIRST_S) -> list[Stream]:
        """Wait for the first message."""
        return self.wait(lambda stream: bool(stream.reports), within_s)


@contextmanager
def watching(bench: Bench, service: str) -> Iterator[Watching]:
    """Open a stream beside the kubelet's, and cancel it afterwards."""
    label = f"{bench.instance.name}/{next(_numbers)}"
    since = len(bench.timeline)
    with bench.answering().dra() as client:
        watch = HealthWatch(
            client,
            service,
            timeline=bench.timeline,
            instance=label,
            settings=bench.instance.kubelet.settings,
            clock=Clock(),
            gives_up=True,
        )
        watch.start()
        try:
            yield Watching(bench, label, since)
        finally:
            watch.close()

"""Devices that are made faulty by the profile's hooks, and healed again."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from typing import Final

from pytest_dra.bench import history
from pytest_dra.bench import hooks
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.devices import Device
from pytest_dra.bench.devices import same_in
from pytest_dra.checks import taints
from pytest_dra.checks.pools import newest
from pytest_dra.checks.taints import NOTICED_S
from pytest_dra.spec import Blocked
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import pause

SECOND_S: Final = 1.05
"""A second and a bit: times of taints have no smaller parts."""

STAYS: Final = "TAINT-003"
"""The case that says that a faulty device is tainted."""


@contextmanager
def ailing(bench: Bench, device: Device) -> Iterator[None]:
    """Make a device faulty, and heal it afterwards; without ``hooks.heal`` the driver begins anew.

    Raises:
        UnsupportedEnvironment: a hook cannot be run.
    """
    chosen = bench.profile.hooks
    with bench.timeline.disturbance("a faulty device"):
        _run(bench, chosen.fault, "hooks.fault", device)
        try:
            yield
        finally:
            if chosen.heal:
                heal(bench, device)
            else:
                bench.spoiled("a device was made faulty")


def heal(bench: Bench, device: Device) -> None:
    """Run ``hooks.heal`` and wait until the driver shows it."""
    _run(bench, bench.profile.hooks.heal, "hooks.heal", device)
    wait_for(bench, device, lambda found: found is not None and not found.get("taints"))


def _run(bench: Bench, command: tuple[str, ...], name: str, device: Device) -> None:
    values = {"pool": device.pool, "device": device.name}
    hooks.run(bench.instance, command, name=name, values=values)


def wait_for(bench: Bench, device: Device, wanted: Callable[[Json | None], bool]) -> Json | None:
    """The device as it is published once that is as wanted, or at the deadline; None if it is not.

    A driver that has ended is not waited for.
    """
    now = bench.instance.wait_for_slices(
        lambda slices: wanted(same_in(device, newest(slices))), within_s=bench.within(NOTICED_S)
    )
    return same_in(device, newest(now))


def tainted(bench: Bench, device: Device) -> Json:
    """The device once it has a taint.

    Raises:
        Blocked: it gets none.
    """
    found = wait_for(bench, device, lambda found: bool(found and found.get("taints")))
    if not found or not found.get("taints"):
        raise Blocked(STAYS)
    return found


def pair_of(bench: Bench) -> tuple[Device, Device]:
    """Two devices of one pool, which are mostly in one slice.

    Raises:
        UnsupportedEnvironment: no pool has two.
    """
    pools: dict[str, Device] = {}
    for device in bench.every_device():
        if device.pool in pools:
            return pools[device.pool], device
        pools[device.pool] = device
    raise UnsupportedEnvironment(
        "needs two devices of one pool",
        way_out="let the driver publish more (launch.components, simulated hardware)",
    )


def as_published(bench: Bench, device: Device) -> Json | None:
    """The device as it is published now."""
    return same_in(device, newest(bench.instance.slices()))


def let_time_pass(device: Json) -> None:
    """Wait until a time that is taken now differs from those of the device's taints, which are
    whole seconds."""
    for time_added in taints.times_of(device).values():
        with suppress(ValueError):
            at = datetime.datetime.fromisoformat(time_added.replace("Z", "+00:00")).timestamp()
            pause(min(SECOND_S, max(0.0, at + SECOND_S - time.time())))


def updates_of(bench: Bench) -> list[tuple[int, Json, Json]]:
    """Each update of a slice by the driver: its serial, and the slice before and after it."""
    return [
        (step.entry.serial, step.before[name], step.after[name])
        for step in history.steps(bench.timeline)
        if step.entry.event.identity == bench.instance.user
        for name in step.names
        if name in step.before and name in step.after
    ]

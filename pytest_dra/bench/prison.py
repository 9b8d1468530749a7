"""The driver in a jail, for cases that look at what it does outside of its directories."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Final

from pytest_dra.bench import abroad
from pytest_dra.bench.bench import Bench
from pytest_dra.bench.calls import WORKING
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.claims import results_of
from pytest_dra.bench.instance import Instance
from pytest_dra.checks import prepare
from pytest_dra.launch import Jail
from pytest_dra.launch import LaunchError
from pytest_dra.profile import Hardware
from pytest_dra.spec import Blocked
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.waiting import Deadline

UNKNOWN_MAX: Final = 3


@contextmanager
def jailed(bench: Bench) -> Iterator[Instance]:
    """The driver under test if it is jailed or in a container, else one beside it that is.

    Raises:
        UnsupportedEnvironment: no process can be jailed here, or the hardware is real and there
            is none for a second driver.
    """
    if bench.setup.confined:
        yield bench.instance
        return
    if bench.profile.launch.hardware is Hardware.REAL:
        raise UnsupportedEnvironment(
            "the driver is not in a jail, and its hardware is not given to a second one unasked",
            way_out="--dra-jail, or say that launch.hardware is fake",
        )
    problem = Jail.check()
    if problem:
        raise UnsupportedEnvironment(problem, way_out="--dra-jail, as root for example")
    instance = bench.new_instance("j", setup=dataclasses.replace(bench.setup, jailed=True))
    try:
        instance.start()
        plugin = instance.plugin()
        if plugin is None:
            raise UnsupportedEnvironment(
                "the driver does not register in the jail",
                way_out="look at it with --dra-jail; name what it writes in launch.writable",
            )
        # Whether it listens when it registers is judged elsewhere.
        plugin.client.connected(Deadline.after(instance.budgets.start))
        instance.wait_published()
        yield instance
    finally:
        bench.discard(instance)


def made_abroad(bench: Bench) -> Mapping[str, str]:
    """What the drivers of this run have made on the host, where they are not jailed, by path.

    What others may have made is a remark.
    """
    seen = bench.setup.abroad
    if seen is None or bench.setup.confined:
        return {}
    abroad.look(bench.instance)
    if seen.unknown:
        listed = ", ".join(seen.unknown[:UNKNOWN_MAX])
        bench.warnings.add(f"appeared in this run, and nothing shows by whom: {listed}")
    return dict(seen.found)


def must_work(bench: Bench) -> None:
    """A jailed driver is asked for only what the driver under test does without.

    Raises:
        Blocked: it is not registered in time, or cannot prepare a claim.
    """
    instance = bench.instance
    left_s = instance.began + instance.budgets.start - bench.timeline.now()
    if instance.plugin(within_s=max(0.0, left_s)) is None:
        raise Blocked(WORKING)
    bench.plain_cycle()
    if all(
        each.reply.error_for(claim.uid) for each in instance.preparations for claim in each.claims
    ):
        raise Blocked(WORKING)


def cycles(bench: Bench, instance: Instance, count: int) -> None:
    """So many claims on one device of an instance, prepared and released.

    Raises:
        Blocked: there is no device.
        Violation: one of them fails.
    """
    several = None if bench.profile.driver.takes_all_devices else 1
    devices = instance.devices()[:several]
    if not devices:
        raise Blocked(WORKING)
    for number in range(1, count + 1):
        wanted = [Wanted(request="req-0", devices=tuple(devices))]
        claim = bench.claims.create(wanted)
        results = results_of(wanted, driver=instance.driver_name or "")
        claim = bench.claims.allocate(claim, results, node=instance.node)
        reply = instance.prepare([claim])
        prepare.must_succeed(reply, claim.uid, what=f"Prepare of claim {number} in the jail")
        reply = instance.unprepare([claim])
        prepare.must_succeed(reply, claim.uid, what=f"Unprepare of claim {number} in the jail")
        bench.claims.delete(claim)


def made_outside(instance: Instance) -> list[str]:
    """What the jailed driver has made outside of its directories.

    Raises:
        UnsupportedEnvironment: the kernel does not show it.
    """
    lodging = instance.place.lodging
    try:
        return lodging.made_outside(instance.driver.pids) if lodging is not None else []
    except LaunchError as error:
        raise UnsupportedEnvironment(str(error), way_out="run as the driver's user") from error

"""The driver's return after it was down: killed, ended in order, or together with its node."""

from __future__ import annotations

from collections.abc import Callable

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.obituary import first_end
from pytest_dra.bench.residue import Tree
from pytest_dra.spec import Violation
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import pause
from pytest_dra.waiting import until

BACK_OFF_S = 1.0
"""Pause before a process that has ended is started again (term "restart" of the catalogue)."""


def crash(bench: Bench) -> Tree:
    """SIGKILL and a new start; returns the paths that the new process has added by itself.

    Raises:
        Violation: it does not come back.
    """
    bench.instance.kill()
    return start_again(bench, after="SIGKILL")


def restart(bench: Bench) -> Tree:
    """SIGTERM and a new start; see :func:`crash`."""
    bench.instance.end()
    return start_again(bench, after="SIGTERM")


def reboot(bench: Bench) -> Tree:
    """The node goes down in order and comes up again; see :func:`crash`."""
    before = bench.instance.tree()
    bench.instance.reboot()
    return _come_back(bench, before, after="a reboot")


def start_again(bench: Bench, *, after: str) -> Tree:
    """Start the driver on the directories as they are, and wait until it is registered.

    Returns:
        The paths that its start has added: they are no claim's.

    Raises:
        Violation: it does not register within the start budget; ``after`` says what was before.
    """
    before = bench.instance.tree()
    bench.instance.start_again()
    return _come_back(bench, before, after=after)


def _come_back(bench: Bench, before: Tree, *, after: str) -> Tree:
    instance = bench.instance
    bench.forget()
    if instance.plugin() is None:
        raise Violation(
            f"start after {after}",
            got=instance.obituary() or "the driver does not register",
            want=f"registered and connected within {instance.budgets.start:g} s",
        )
    now = instance.tree()
    added = now.added_since(before)
    return Tree({path: size for path, size in now.sizes.items() if path in added})


def revive(instance: Instance) -> None:
    """Start an instance again that has ended while the suite made trouble, as a kubelet does."""
    end = first_end(instance)
    if end is not None and end.disturbed:
        instance.kill()
        instance.start_again()


def attend(bench: Bench, done: Callable[[], bool], *, within_s: float) -> bool:
    """Wait, and start the driver again :data:`BACK_OFF_S` after each exit, as a kubelet does.

    Returns:
        True once ``done`` is, False if that does not happen in time.
    """
    instance, deadline = bench.instance, Deadline.after(within_s)
    while not deadline.passed:
        until(bench.timeline, lambda: instance.over or done(), deadline)
        if not instance.over:
            return done()
        if deadline.left_s() > BACK_OFF_S:
            instance.kill()
            pause(BACK_OFF_S)
            instance.start_again()
        else:
            pause(deadline.left_s())
    return done()

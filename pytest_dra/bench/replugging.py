"""Changes of a driver's devices that the suite makes: by hotplug, and by another inventory."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

from pytest_dra.bench import hooks
from pytest_dra.bench.changes import Change
from pytest_dra.bench.family import FEW
from pytest_dra.bench.family import MANY
from pytest_dra.bench.family import Family
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.setup import Setup
from pytest_dra.checks.pools import are_tidy
from pytest_dra.checks.pools import are_whole
from pytest_dra.checks.pools import newest
from pytest_dra.checks.pools import of_node
from pytest_dra.checks.slices import count
from pytest_dra.spec import Json
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import quiet

FOLLOW_S = 60.0
"""Longest wait for a device that comes or goes: settling takes no longer."""

CLEAN_S = 90.0
"""Longest wait for slices without left-overs after a start."""

STILL_S = 0.3
"""Pause without a slice write after which the next thing is done: a driver that was right a moment
ago and writes on is seen by the cases that watch for longer."""


class Replugging:
    """Makes each change once, when it is first asked for.

    Args:
        setup: of the bench.
        family: the instances that are changed; the driver under test stays as it is.
    """

    def __init__(self, setup: Setup, family: Family) -> None:
        self._setup = setup
        self._family = family
        self._noted: list[Change] = []
        self._firsts: dict[str, list[Json]] = {}
        self._hotplugged: list[Change] | None = None
        self._shrunk: list[Change] | None = None

    @property
    def changed(self) -> tuple[Change, ...]:
        """All changes so far."""
        return (*self._noted, *(self._hotplugged or ()), *(self._shrunk or ()))

    def note(self, change: Change) -> None:
        """Keep a change that a case has made otherwise."""
        self._noted.append(change)

    def first(self, instance: Instance) -> list[Json]:
        """The slices of the large instance, or of another one, as it published them first."""
        if instance.name not in self._firsts:
            wanted = MANY if instance is self._family.large else 1
            since, limit_s = instance.started_serial, instance.budgets.publish
            new = self._wait(instance, lambda n: n >= wanted, limit_s)
            self._firsts[instance.name] = new
            text = f"the first publication of {len(devices_of(new))} devices"
            self.note(change_of(instance, text, since, (), new))
        return self._firsts[instance.name]

    def hotplug(self) -> list[Change]:
        """Remove a device and add it again; nothing where the profile has no ``hooks.hotplug``."""
        if self._hotplugged is None:
            self._hotplugged = []
            hook = self._setup.profile.hooks.hotplug
            if hook is not None:
                instance = self._family.large or self._family.neighbour
                whole = self.first(instance)
                count = count_on(instance.node, whole)
                remove, add = hook.remove, hook.add
                self._plug(instance, remove, "hooks.hotplug.remove", lambda n: n < count)
                self._plug(instance, add, "hooks.hotplug.add", lambda n: n >= count)
        return self._hotplugged

    def shrink(self) -> list[Change]:
        """Start the large instance again with :data:`~pytest_dra.bench.family.FEW` devices."""
        self.hotplug()
        if self._shrunk is None:
            self._shrunk = []
            instance = self._family.large
            if instance is not None:
                self.first(instance)
                old, since = instance.slices(), len(instance.timeline)
                with instance.timeline.disturbance("start with fewer devices"):
                    instance.end()
                    instance.driver.components = self._setup.equipped(FEW)
                    instance.start_again()
                    limit_s = min(CLEAN_S, self._setup.profile.budgets.repair)
                    deadline = Deadline.after(limit_s)
                    self._wait(instance, lambda n: n <= FEW, limit_s)
                    new = instance.wait_for_slices(are_tidy, within_s=deadline.left_s())
                text = f"a start with {FEW} devices in place of {MANY}"
                self._shrunk.append(change_of(instance, text, since, old, new))
        return self._shrunk

    def _plug(
        self, instance: Instance, command: Sequence[str], name: str, wanted: Callable[[int], bool]
    ) -> None:
        old, since = instance.slices(), len(instance.timeline)
        with instance.timeline.disturbance(name):
            hooks.run(instance, command, name=name)
            new = self._wait(instance, wanted, FOLLOW_S)
        changes = self._hotplugged if self._hotplugged is not None else []
        changes.append(change_of(instance, name, since, old, new, plugged=True))

    def _wait(
        self, instance: Instance, wanted: Callable[[int], bool], within_s: float
    ) -> list[Json]:
        deadline = Deadline.after(within_s)
        instance.wait_for_slices(
            lambda now: wanted(count_on(instance.node, now)) and are_whole(now), within_s=within_s
        )
        began = instance.timeline.now()

        def last() -> float:
            writes = instance.slice_writes(since=instance.started_serial)
            return max(began, writes[-1].at if writes else 0.0)

        quiet(instance.timeline, last, for_s=STILL_S, deadline=deadline)
        return instance.slices()


def devices_of(slices: Sequence[Json]) -> list[Json]:
    """All devices of the slices."""
    return [device for item in slices for device in (item.get("spec") or {}).get("devices") or []]


def count_on(node: str, slices: Sequence[Json]) -> int:
    """Devices of the node, as readers see them; of all nodes where none of them is the node's."""
    return count(of_node(newest(slices), node))


def change_of(
    instance: Instance,
    during: str,
    since: int,
    old: Sequence[Json],
    new: Sequence[Json],
    *,
    plugged: bool = False,
) -> Change:
    """A change of what an instance publishes, from a serial on until now."""
    return Change(
        during=during,
        user=instance.user,
        since=since,
        until=len(instance.timeline),
        old=tuple(old),
        new=tuple(new),
        plugged=plugged,
    )

"""Restarts of the driver under test, done once and looked at by several cases."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING

from pytest_dra.api.resources import RESOURCE_SLICES
from pytest_dra.bench.devices import Device
from pytest_dra.bench.devices import is_published
from pytest_dra.bench.devices import published_on
from pytest_dra.bench.instance import SETTLE_LIMIT_S
from pytest_dra.bench.instance import SETTLE_S
from pytest_dra.bench.offer import nothing_offered
from pytest_dra.bench.replugging import CLEAN_S
from pytest_dra.bench.replugging import STILL_S
from pytest_dra.checks.pools import are_tidy
from pytest_dra.checks.pools import generation_of
from pytest_dra.checks.pools import of_node
from pytest_dra.checks.slices import count
from pytest_dra.spec import Json
from pytest_dra.timeline import ApiRequest
from pytest_dra.waiting import Deadline
from pytest_dra.waiting import quiet
from pytest_dra.waiting import until

if TYPE_CHECKING:
    from pytest_dra.bench.bench import Bench
    from pytest_dra.bench.claims import Claim
    from pytest_dra.bench.instance import Instance
    from pytest_dra.kubelet import Plugin

TIMES = 5
"""Restarts in a row, fewer of a driver that does not come back."""

UNHEARD_S = 2.0
"""Wait for the plugin of a driver that was not registered and connected before either."""

LEFT_OVER = "left-over"
"""Name of the device in the slice that a predecessor seems to have left."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """What was seen: the slices before, after each restart, and once they had settled.

    ``device`` was held by a prepared claim all the time, if one could be prepared (``held``).
    """

    device: Device
    held: bool
    before: tuple[Json, ...]
    after: tuple[tuple[Json, ...], ...]
    settled: tuple[Json, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Done:
    """The restarts, before the last one has settled.

    ``seeded`` is the left-over's name, ``at`` the end of the last start on the timeline's clock.
    """

    device: Device
    held: bool
    before: tuple[Json, ...]
    after: tuple[tuple[Json, ...], ...]
    seeded: str
    at: float


class Restarts:
    """SIGTERM and start, :data:`TIMES` times, once per bench.

    Before the last start a slice of an older generation is put beside those of the driver.
    """

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._done: _Done | None = None
        self._seen: Restarted | None = None

    def begin(self) -> None:
        """Restart, but do not wait until the last start has settled. Raises as :meth:`seen`."""
        if self._done is None:
            self._done = self._run()

    def seen(self) -> Restarted:
        """Do it now, or return what was seen the first time.

        Raises:
            Blocked, UnsupportedEnvironment: nothing is published.
        """
        self.begin()
        if self._seen is None and self._done is not None:
            self._seen = self._settled(self._done)
        if self._seen is None:
            raise nothing_offered(self._bench.profile)
        return self._seen

    def _run(self) -> _Done:
        bench, instance = self._bench, self._bench.instance
        if not is_published(bench.published()):
            raise nothing_offered(bench.profile)
        device = bench.devices(1)[0]
        claim = bench.claim([device])
        patience_s = None if _is_connected(instance.plugin()) else UNHEARD_S
        held = not bench.prepare(claim).error_for(claim.uid)
        # Some drivers publish long after they have registered, and a node may just have come up.
        before = tuple(
            instance.wait_for_slices(
                published_on(instance.node, sent=instance.slices_as_sent()),
                within_s=bench.within(instance.budgets.repair),
            )
        )
        if not is_published(before):
            raise nothing_offered(bench.profile)
        after: list[tuple[Json, ...]] = []
        seeded, came_back = "", True
        with bench.timeline.disturbance("restarts"):
            while not seeded:
                instance.end()
                # Who does not come back once would be waited for each time, and is found out.
                if len(after) == TIMES - 1 or not came_back:
                    seeded = self._leave_over(instance, before)
                instance.start_again()
                bench.forget()
                came_back = self._wait(instance, plugin_within_s=patience_s)
                after.append(tuple(_without(instance.slices(), seeded)))
        self._release(claim)
        return _Done(device, held, before, tuple(after), seeded, bench.timeline.now())

    def _settled(self, done: _Done) -> Restarted:
        bench, instance = self._bench, self._bench.instance
        wanted = count(of_node(done.before, instance.node))
        # A case that failed meanwhile has brought a new process, which has to publish first.
        instance.wait_for_slices(
            lambda now: are_tidy(now) and count(of_node(now, instance.node)) >= wanted,
            within_s=bench.within(CLEAN_S),
        )

        def last() -> float:
            writes = instance.slice_writes()
            return max(done.at, writes[-1].at if writes else 0.0)

        # Other cases may have gone on meanwhile, and what the driver wrote then settles as well.
        deadline = Deadline.after(SETTLE_LIMIT_S)
        quiet(instance.timeline, last, for_s=SETTLE_S, deadline=deadline)
        settled = tuple(instance.slices())
        # So that it is one case's matter where the driver has left it.
        bench.cluster.admin().discard(RESOURCE_SLICES, done.seeded)
        return Restarted(
            device=done.device,
            held=done.held,
            before=done.before,
            after=done.after,
            settled=settled,
        )

    def _leave_over(self, instance: Instance, before: tuple[Json, ...]) -> str:
        """Put a slice of the generation before the last one there; its name."""
        full = [item for item in before if item["spec"].get("devices")]
        # Who writes a pool of no node may first have to wait for a lease to run out.
        model = copy.deepcopy(of_node(full, instance.node)[0])
        spec = model["spec"]
        spec["pool"]["generation"] = max(0, generation_of(model) - 1)
        spec["devices"] = [{"name": LEFT_OVER}]
        spec.pop("sharedCounters", None)
        name = f"{LEFT_OVER}-{instance.name}"
        body = {"metadata": {"name": name}, "spec": spec}
        self._bench.cluster.admin().create(RESOURCE_SLICES, body)
        return name

    def _wait(self, instance: Instance, *, plugin_within_s: float | None) -> bool:
        """Until the new process is registered, has looked at its slices, and writes no more.

        False for one that was connected before, and has not been connected again in time.
        """
        deadline = Deadline.after(instance.budgets.start)
        plugin = instance.plugin(within_s=plugin_within_s)

        def looked() -> bool:
            return instance.over or bool(
                instance.timeline.entries(
                    ApiRequest,
                    since=instance.started_serial,
                    where=lambda event: (
                        event.identity == instance.user and event.resource == RESOURCE_SLICES.plural
                    ),
                )
            )

        until(instance.timeline, looked, deadline)
        began = instance.timeline.now()

        def last() -> float:
            writes = instance.slice_writes(since=instance.started_serial)
            return max(began, writes[-1].at if writes else 0.0)

        quiet(instance.timeline, last, for_s=STILL_S, deadline=deadline)
        return _is_connected(plugin) or plugin_within_s is not None

    def _release(self, claim: Claim) -> None:
        self._bench.unprepare(claim)
        self._bench.claims.delete(claim)


def _is_connected(plugin: Plugin | None) -> bool:
    return plugin is not None and plugin.client.is_connected


def _without(slices: list[Json], name: str) -> list[Json]:
    return [item for item in slices if item["metadata"]["name"] != name]

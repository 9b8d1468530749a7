"""The bench: the four places of a driver put together, for cases to act on.

A case gets a bench whose driver runs, is in a known state, and has given away no device. What the
case prepares and creates is taken back when it ends; where that fails, or the case failed, the
next case gets a new driver process on empty directories.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager

from pytest_dra.bench import abroad
from pytest_dra.bench import obituary
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.claims import Claims
from pytest_dra.bench.claims import Wanted
from pytest_dra.bench.claims import result
from pytest_dra.bench.claims import results_of
from pytest_dra.bench.configuring import Configuring
from pytest_dra.bench.cycle import PlainCycle
from pytest_dra.bench.cycle import residue_of
from pytest_dra.bench.devices import Device
from pytest_dra.bench.family import Family
from pytest_dra.bench.inspecting import Inspecting
from pytest_dra.bench.instance import Instance
from pytest_dra.bench.offer import Offer
from pytest_dra.bench.offering import Offering
from pytest_dra.bench.preparation import Preparation
from pytest_dra.bench.registration import Registration
from pytest_dra.bench.replugging import Replugging
from pytest_dra.bench.residue import Tree
from pytest_dra.bench.restarts import Restarts
from pytest_dra.bench.setup import RANDOM_BYTES
from pytest_dra.bench.setup import Setup
from pytest_dra.bench.warnings import Warnings
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import prepare
from pytest_dra.launch import LaunchError
from pytest_dra.spec import Blocked
from pytest_dra.spec import Case
from pytest_dra.spec import Json
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import Violation
from pytest_dra.timeline import Mark
from pytest_dra.wire.answers import NodeReply
from pytest_dra.wire.answers import PluginInfo

CLEANUP_S = 5.0
"""Deadline of an Unprepare that only cleans up: what takes longer is replaced by a new driver."""

MUTE, NO_RELEASE = "REG-002", "UNP-001"
"""The cases that say that GetInfo and Unprepare answer at all."""

MADE_FOR_CASES = "pytest-dra.example.com"
"""Name of the DeviceClass that the suite's claims name."""


class Bench(Offering):
    """See the module; made once per process, driven by ``session``."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(Offer(lambda: self.instance), setup.profile)
        self.timeline = setup.timeline
        self.cluster = setup.cluster
        self.driver_name_given = setup.driver_name
        self.setup = setup
        self._primary: Instance | None = None
        self._others: list[Instance] = []
        self._nodes: set[str] = set()
        self.places: dict[str, str] = {}
        self.reverts: bool | None = None
        self._held: dict[str, Claim] = {}
        self._dirty, self._lent, self._closed = "", False, False
        self.warnings = Warnings()
        self._registration: Registration | Violation | None = None
        self._answered = False
        self._mute: Blocked | None = None
        self._judged = MUTE
        self._unstartable: LaunchError | None = None
        # Further benches of the run, for cases that look back at all of it.
        self.beside: Callable[[], Sequence[Bench]] = tuple
        self._cycle: PlainCycle | None = None
        self.family = Family(
            setup.cluster,
            self.new_instance,
            lambda: self.instance.driver_name,
            nodes=self._nodes,
            resizable=setup.profile.launch.inventory is not None,
        )
        self.replugging = Replugging(setup, self.family)
        self.restarts = Restarts(self)
        self.inspecting = Inspecting(
            lambda: self.instance, self.settled, setup.cluster.version, setup.profile
        )
        suffix = secrets.token_hex(RANDOM_BYTES)
        self.configuring = Configuring(setup.profile, lambda: self.driver)
        self.claims = Claims(
            setup.cluster.admin(),
            namespace=f"dra-{suffix}",
            class_name=MADE_FOR_CASES,
            class_config=self.configuring.entries,
        )

    @property
    def instance(self) -> Instance:
        """The driver under test; started at first use.

        Raises:
            LaunchError: it cannot be started; the first failure again, without a further try.
        """
        if self._unstartable is not None:
            raise self._unstartable
        if self._primary is None:
            instance = self.new_instance("a")
            try:
                instance.start()
            except LaunchError as error:
                self._unstartable = error
                raise
            self._primary = instance
        return self._primary

    @property
    def started(self) -> bool:
        """True once the driver under test has been started."""
        return self._primary is not None

    @property
    def driver(self) -> str:
        """Name of the driver under test."""
        return self.instance.driver_name or "(unregistered driver)"

    @property
    def kubernetes(self) -> str:
        """Kubernetes version that is judged for, such as ``1.37``."""
        return self.cluster.kubernetes

    def new_instance(
        self, letter: str, devices: int | None = None, *, setup: Setup | None = None
    ) -> Instance:
        """A further driver on a node and directories of its own; the bench stops it at the end.

        ``devices``: how many it shall find, where the profile's ``launch.inventory`` can say so.
        """
        if self._closed:
            raise LaunchError("the run has ended")
        chosen = setup or self.setup
        instance = chosen.instance(letter, nodes=self._nodes, devices=devices)
        self.places[instance.user] = instance.node
        self._others.append(instance)
        return instance

    def discard(self, instance: Instance) -> None:
        """Stop an instance that a case has started, and delete its slices."""
        instance.stop()
        instance.delete_slices_of_node()
        self._others.remove(instance)

    def close(self) -> None:
        """Stop every driver; the cluster and the keeper are the owner's to stop."""
        self._closed = True
        for instance in list(self._others):
            instance.stop()
        self._others.clear()
        self._primary = None

    # claims

    def claim(
        self,
        devices: Sequence[Device],
        *,
        config: Sequence[Json] = (),
        name: str | None = None,
        namespace: str | None = None,
    ) -> Claim:
        """An allocated, reserved claim with one request per device (``req-0``, ``req-1`` ...)."""
        wanted = [Wanted(request=f"req-{n}", devices=(each,)) for n, each in enumerate(devices)]
        return self.claim_for(wanted, config=config, name=name, namespace=namespace)

    def claim_for(
        self,
        wanted: Sequence[Wanted],
        *,
        config: Sequence[Json] = (),
        name: str | None = None,
        namespace: str | None = None,
    ) -> Claim:
        """A claim whose requests get the devices named (see :meth:`completed`), allocated and
        reserved."""
        wanted = self.completed(wanted)
        claim = self.claims.create(wanted, name=name, namespace=namespace, config=config)
        results = results_of(wanted, driver=self.driver)
        return self.allocate(claim, results, config=config)

    def allocate(
        self, claim: Claim, results: Sequence[Json], *, config: Sequence[Json] = ()
    ) -> Claim:
        """Give an existing claim exactly these results."""
        return self.claims.allocate(claim, results, node=self.instance.node, config=config)

    def prepare(self, *claims: Claim, timeout_s: float | None = None) -> NodeReply:
        """One Prepare call; the claims count as held until an Unprepare of them succeeds."""
        self.calls_must_take(len(claims))
        self._held.update({claim.uid: claim for claim in claims})
        return self.instance.prepare(claims, timeout_s=timeout_s)

    def unprepare(self, *claims: Claim, timeout_s: float | None = None) -> NodeReply:
        """One Unprepare call."""
        reply = self.instance.unprepare(claims, timeout_s=timeout_s)
        for claim in claims:
            if not reply.error_for(claim.uid):
                self._held.pop(claim.uid, None)
        return reply

    def results(self, devices: Sequence[Device]) -> list[Json]:
        """Allocation results of the driver for these devices, one request each."""
        return [
            result(f"req-{index}", device, driver=self.driver)
            for index, device in enumerate(devices)
        ]

    def residue_of(self, claim: Claim, before: Tree) -> frozenset[str]:
        """Paths that the claim has left since ``before``, its uid and name replaced."""
        return residue_of(claim, self.instance.tree(), before)

    def ids_must_resolve(self, reply: NodeReply, claim: Claim, *, what: str) -> None:
        """The ids of the newest answer resolve, unless they do not in a plain cycle either."""
        if self.plain_cycle().resolves:
            ids = cdi_specs.ids_of(reply, claim.uid)
            registry = self.last_preparation().registry
            cdi_specs.ids_must_resolve(registry, ids, what=what, proof=[reply.serial])

    def last_preparation(self) -> Preparation:
        """The newest Prepare call with its CDI directories."""
        return self.instance.preparations[-1]

    def plain_cycle(self) -> PlainCycle:
        """What Prepare and Unprepare of one claim on one device do with this driver."""
        if self._cycle is None:
            self._cycle = PlainCycle.run(self)
        return self._cycle

    def registration(self) -> Registration:
        """The registration of the running driver process; found once per process.

        Raises:
            Violation: no socket accepts connections within the start budget.
        """
        if self._registration is None:
            try:
                self._registration = Registration(self.instance)
            except Violation as violation:
                self._registration = violation
        if isinstance(self._registration, Violation):
            raise self._registration
        return self._registration

    def get_info(self) -> PluginInfo:
        """What GetInfo answers; Violation if nothing."""
        found = self.registration()
        try:
            info = found.info()
        except Violation as violation:
            self._mute = Blocked(self._judged if self._answered else MUTE, violation)
            raise
        self._answered = True
        return info

    def answering(self) -> Registration:
        """:meth:`registration`, for cases that judge more than that GetInfo answers.

        Raises:
            Violation: it does not answer any more, which no other case has found so far.
            Blocked: it does not answer at all; a new process is not asked again.
        """
        if not self._mute:
            try:
                self.get_info()
            except Violation:
                if self._answered:
                    raise
        if self._mute:
            raise self._mute
        return self.registration()

    def forget(self) -> None:
        """The driver process is another one: find its registration anew."""
        self._registration = None

    def within(self, limit_s: float) -> float:
        """A deadline of the catalogue for repairs, in seconds; the profile may shorten it."""
        return self.setup.within(limit_s)

    def slices_as_sent(self) -> list[Json]:
        """The slices of the driver's writes, before defaulting and gate dropping."""
        return self.instance.slices_as_sent()

    # the state between two cases

    @contextmanager
    def case(self, case: Case, *, works: bool) -> Iterator[None]:
        """Run one case: clean before, cleaned up after, marked on the timeline.

        ``works``: the case rests on a driver that prepares claims, so the plain cycle is run
        before it where it has not been.
        """
        if self._lent and not self._dirty:
            self._dirty = "lent to a test that is no case"
        if self._dirty:
            self._renew()
        if works:
            self._must_work(case)
        self._judged = case.id
        self.timeline.add(Mark(text=f"case {case.id} begins"))
        try:
            yield
        except NotApplicable:
            self._take_back(unprepare=True)
            raise
        except BaseException as error:
            self._dirty = f"{case.id} did not pass"
            if self._primary is not None:
                obituary.explain(self._primary, error)
            self._take_back(unprepare=False)
            raise
        else:
            self._take_back(unprepare=True)
        finally:
            self.timeline.add(Mark(text=f"case {case.id} ends"))

    @contextmanager
    def lent(self) -> Iterator[None]:
        """For a test that is no case: a good driver before, its claims taken back after.

        What such a test does may be anything: the next case begins with a new process.
        """
        if self._dirty:
            self._renew()
        self._lent = True
        try:
            yield
        finally:
            self._take_back(unprepare=True)

    def _must_work(self, case: Case) -> None:
        instance = self.instance
        instance.plugin()
        if not instance.is_silent(prepare.UNPREPARE):
            self.plain_cycle()
        if instance.is_silent(prepare.UNPREPARE) and case.id != NO_RELEASE:
            raise obituary.unheard(instance, by=NO_RELEASE)

    @property
    def clean(self) -> bool:
        """True if the next case will meet the driver as it is now."""
        return not self._dirty and not self._lent

    def spoiled(self, why: str) -> None:
        """The case leaves a state that no other case should meet: begin again afterwards."""
        self._dirty = why

    def _take_back(self, *, unprepare: bool) -> None:
        for claim in list(self._held.values()):
            if unprepare:
                reply = self.unprepare(claim, timeout_s=CLEANUP_S)
                if reply.error_for(claim.uid):
                    self._dirty = f"{claim} cannot be unprepared"
        self._held.clear()
        used = [claim.uid for claim in self.claims.living]
        self.claims.delete_all()
        if self._primary is not None:
            abroad.look(self._primary)
            self._dirty = (unprepare and self._leftovers(used)) or self._dirty

    def _leftovers(self, uids: Sequence[str]) -> str:
        instance = self.instance
        if not instance.driver.alive:
            return obituary.ending(instance, self.warnings)
        left = instance.tree().naming(uids)
        expected = self._cycle.residue if self._cycle else None
        if expected is not None and left and not expected:
            return f"left behind: {sorted(left)[0]}"
        return ""

    def _renew(self) -> None:
        self.timeline.add(Mark(text=f"new driver process on empty directories: {self._dirty}"))
        self._dirty = ""
        self._lent = False
        self._held.clear()
        self._registration = None
        self._cycle = None
        if self._primary is not None:
            with self.timeline.disturbance("new driver process"):
                self._primary.renew()
            self.wait_published()

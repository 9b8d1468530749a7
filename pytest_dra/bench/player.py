"""Plays histories of two claims (see ``checks.histories``) on the driver under test."""

from __future__ import annotations

from pytest_dra.bench.bench import Bench
from pytest_dra.bench.calls import retried
from pytest_dra.bench.claims import Claim
from pytest_dra.bench.cycle import residue_of
from pytest_dra.bench.cycle import unresolved
from pytest_dra.bench.devices import Device
from pytest_dra.bench.obstacles import failing_reads
from pytest_dra.bench.obstacles import unwritable_cdi
from pytest_dra.bench.residue import Tree
from pytest_dra.checks import cdi_specs
from pytest_dra.checks import histories
from pytest_dra.checks import prepare
from pytest_dra.checks.histories import Model
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.wire.answers import NodeReply


class Player:
    """Plays a history at a time, with new claims on the same two devices."""

    def __init__(self, bench: Bench, devices: tuple[Device, Device]) -> None:
        self._bench = bench
        self._devices = devices
        self._cycle = bench.plain_cycle()

    @property
    def reboots(self) -> bool:
        """True if a node can be rebooted here."""
        try:
            self._bench.instance.place.must_reboot_truly()
        except UnsupportedEnvironment:
            return False
        return True

    def play(self, history: str) -> Violation | None:
        """How a history fails, None if all is as it should be; its claims are released."""
        played = self.begin()
        try:
            for step in history:
                played.step(step)
            played.end()
        except Violation as violation:
            return violation
        return None

    def begin(self) -> Played:
        """A history that is made step by step, with new claims."""
        return Played(self._bench, self._claims())

    def _claims(self) -> dict[str, Claim]:
        return {
            name: self._bench.claim([device])
            for name, device in zip(histories.NAMES, self._devices, strict=True)
        }

    def play_anew(self, history: str) -> Violation | None:
        """The same with a new driver process on empty directories."""
        self.renew()
        return self.play(history)

    def renew(self) -> None:
        """Take a new driver process on empty directories."""
        with self._bench.timeline.disturbance("new driver process"):
            self._bench.instance.renew()
        self._bench.forget()
        self._bench.wait_published()
        self._bench.instance.plugin()


class Played:
    """A history while it is played; ``history`` has its steps so far."""

    def __init__(self, bench: Bench, claims: dict[str, Claim]) -> None:
        self._bench = bench
        self._claims = claims
        self._model = Model()
        self._answers: dict[str, NodeReply] = {}
        self._nothing = Tree({})
        self.history = ""

    def step(self, step: str) -> None:
        """Make a step and look at the state after it; Violation if that is not as predicted."""
        self.history += step
        number = len(self.history)
        self._step(step, what=f"step {number} of {histories.in_words(self.history)}")

    def end(self) -> None:
        """Release both claims, and delete them; Violation as for a step."""
        for name in histories.NAMES:
            step, words = name.lower(), histories.in_words(self.history)
            self._step(step, what=f"{histories.STEPS[step]} at the end of {words}")
        for claim in self._claims.values():
            self._bench.claims.delete(claim)

    def _step(self, step: str, *, what: str) -> None:
        refused = False
        if step in (histories.RESTART, histories.CRASH):
            self._restart(crash=step == histories.CRASH)
        elif step == histories.REBOOT:
            self._reboot()
        elif step in histories.FAILING:
            refused = self._fail(step)
        elif step in histories.STUCK:
            with unwritable_cdi(self._bench):
                claim = self._claims[histories.STUCK[step]]
                refused = bool(self._bench.unprepare(claim).error_for(claim.uid))
        elif step.islower():
            self._unprepare(step.upper(), what=what)
        else:
            self._prepare(step, what=what)
        self._model = self._model.after(step, refused=refused)
        self._look(what=what)

    def _prepare(self, name: str, *, what: str) -> None:
        claim = self._claims[name]
        reply = retried(self._bench.prepare, claim, unless=lambda: self._bench.instance.over)
        prepare.must_succeed(reply, claim.uid, what=what)
        allocated = claim.pairs(self._bench.driver)
        prepare.only_these_devices(reply, claim.uid, allocated=allocated, what=what)
        if name in self._model.prepared:
            prepare.must_be_the_same(self._answers[name], reply, claim.uid, what=what)
        self._answers[name] = reply

    def _unprepare(self, name: str, *, what: str) -> None:
        claim = self._claims[name]
        prepare.must_succeed(self._bench.unprepare(claim), claim.uid, what=what)

    def _fail(self, step: str) -> bool:
        """True if Prepare was refused; a driver may do without CDI directory (V21) or claim."""
        name = histories.FAILING[step]
        claim = self._claims[name]
        hindered = unwritable_cdi if step in histories.UNWRITABLE else failing_reads
        with hindered(self._bench):
            reply = self._bench.prepare(claim)
        if reply.error_for(claim.uid):
            return True
        if name not in self._model.prepared:
            self._answers[name] = reply
        return False

    def _restart(self, *, crash: bool) -> None:
        instance = self._bench.instance
        with self._bench.timeline.disturbance("restarted driver"):
            if crash:
                instance.kill()
            else:
                instance.end()
            instance.start_again()
            self._bench.forget()
            instance.plugin()

    def _reboot(self) -> None:
        self._bench.instance.reboot()
        self._bench.forget()
        self._bench.instance.plugin()

    def _look(self, *, what: str) -> None:
        instance, cycle = self._bench.instance, self._bench.plain_cycle()
        registry, tree = instance.cdi(), instance.tree()
        missing = {
            name: unresolved(registry, cdi_specs.ids_of(reply, self._claims[name].uid))
            for name, reply in self._answers.items()
            if cycle.resolves
        }
        left = {}
        for name, claim in self._claims.items():
            named = Tree({path: tree.sizes[path] for path in tree.naming([claim.uid])})
            left[name] = residue_of(claim, named, self._nothing)
        histories.state_must_be(
            self._model, unresolved=missing, left=left, expected=cycle.residue, what=what
        )

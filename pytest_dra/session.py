"""One run of the suite in one process: its plan, its sites, and the outcome of each case.

pytest asks for one case at a time (:meth:`Session.judge`). A case whose prerequisites have not
been judged in this process has them judged first, so that a single case, a whole run and a share
of a run under xdist come to the same result.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from contextlib import ExitStack
from contextlib import suppress

from pytest_dra.annexes import Annexes
from pytest_dra.bench import Bench
from pytest_dra.bench import signs
from pytest_dra.bench.abroad import Abroad
from pytest_dra.bench.attached import not_ours
from pytest_dra.bench.calls import WORKING
from pytest_dra.bench.observations import observed
from pytest_dra.bench.patience import time_is_not_judged
from pytest_dra.cases import Begin
from pytest_dra.cases import Declared
from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.cases import live_cases
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.kubelet import Plugin
from pytest_dra.lanes import WORKING_AGAIN
from pytest_dra.lanes import blocks
from pytest_dra.lanes import lanes_of
from pytest_dra.lanes import needs_of
from pytest_dra.lanes import undisturbing
from pytest_dra.launch import Keeper
from pytest_dra.live import LiveBench
from pytest_dra.livesite import LiveSite
from pytest_dra.outcome import BenchError
from pytest_dra.outcome import Outcome
from pytest_dra.plan import Plan
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import missing_inputs
from pytest_dra.profile import not_applicable
from pytest_dra.profile import unasked
from pytest_dra.report.results import BLOCKED
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.report.results import blocked_by
from pytest_dra.report.results import input_missing
from pytest_dra.report.results import not_run
from pytest_dra.report.results import unsupported
from pytest_dra.report.results import waived
from pytest_dra.site import UNSTARTABLE
from pytest_dra.site import Site
from pytest_dra.spec import Case
from pytest_dra.spec import Depth
from pytest_dra.spec import Json
from pytest_dra.spec import UnsupportedEnvironment

DISTURBING = "it disturbs others who use the cluster"
DISRUPTIVE = "--dra-disruptive"
"""Why a case is not run on a cluster of others, and what runs it."""


class Session:
    """See the module. Nothing is started before the first case or fixture needs it.

    A context manager: everything is ended at its end, whatever happens.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._keeper: Keeper | None = None
        self.live_site = LiveSite(plan, self._start_keeper) if plan.live else None
        self._abroad = Abroad(declared=plan.profile.launch.writable)
        self._site = self._new_site()
        self._annexes = Annexes(
            plan.benches - 1,
            self._new_site,
            self._judge_on,
            fits=Site.has_plugin,
            wanted=lambda id: not self._is_pointless(id),
        )
        self._closed = False
        self.outcomes: dict[str, Outcome] = {}
        self._lapses: dict[str, str] = {}
        self._expected: tuple[str, ...] = ()
        self._to_begin: tuple[str, ...] = ()
        self._to_disturb: tuple[str, ...] = ()

    # what is started

    @property
    def bench(self) -> Bench:
        """The bench of the first site. Raises as :attr:`Site.bench` does."""
        if self.live_site is not None:
            raise BenchError(
                "there is no bench round a driver on a whole cluster: use --dra-cluster=embedded"
            )
        return self._site.bench

    @property
    def live(self) -> LiveBench:
        """The bench of a whole cluster.

        Raises:
            BenchError: the run has none.
        """
        if self.live_site is None:
            raise BenchError("there is no whole cluster: choose one with --dra-cluster=kind")
        return self.live_site.bench

    @property
    def cluster(self) -> Cluster:
        """The cluster alone, without a driver. Raises as :attr:`bench` does."""
        return self._site.cluster

    @property
    def whole(self) -> WholeCluster | None:
        """The whole cluster of the run, without a driver; None if there is none."""
        return self.live_site.cluster if self.live_site is not None else None

    def _new_site(self) -> Site:
        return Site(self.plan, self._start_keeper, abroad=self._abroad)

    def _start_keeper(self) -> Keeper:
        if self._closed:
            raise BenchError("the run has ended")
        if self._keeper is None:
            keeper = Keeper()
            keeper.start()
            self._keeper = keeper
        return self._keeper

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything that was started, in bounded time; calling it twice is fine."""
        self._closed = True
        keeper, self._keeper = self._keeper, None
        with ExitStack() as stack:
            if keeper is not None:
                stack.callback(keeper.close)
            stack.callback(self._site.close)
            stack.callback(self._annexes.close)
            if self.live_site is not None:
                stack.callback(self.live_site.close)

    def benches(self) -> list[Bench]:
        """The benches whose driver has been started, the first site's before the others."""
        begun = self._site.begun
        return [*([begun] if begun is not None else []), *self._annexes.benches()]

    def plugin(self) -> Plugin | None:
        """The registered plugin as it is now, for the report."""
        return self._site.plugin()

    def driver_name(self) -> str:
        """The driver's name as far as it is known."""
        return self._site.driver_name()

    def declared(self, id: str) -> Declared:
        """The case with the body that fits the run. Raises CaseError."""
        return declared(id, live=self.plan.live is not None)

    @functools.cached_property
    def available(self) -> frozenset[str]:
        """Ids of the cases that have a body that fits the run."""
        return live_cases() if self.plan.live else implemented()

    def observed(self) -> Json:
        """What the run has shown of the driver beside its cases; empty if none was started."""
        bench = self._site.begun
        return observed(bench) if bench is not None else {}

    # what is judged

    def judge(self, id: str) -> Outcome:
        """The outcome of one case; each is judged once in a process.

        Raises:
            KeyboardInterrupt: and other exceptions that are no Exception; nothing is kept then.
        """
        if id not in self.outcomes:
            self.outcomes[id] = self._judge(self.declared(id))
            self._begin_others(self.outcomes[id])
        return self.outcomes[id]

    def expect(self, ids: Iterable[str]) -> None:
        """Say which cases are to be judged, so that what takes its time can begin early."""
        self._to_begin = self._to_disturb = tuple(ids)

    def expect_apart(self, ids: Iterable[str]) -> None:
        """Say which cases this process is to judge: some may be, on benches of their own."""
        self._expected = tuple(ids)

    def _begin_others(self, outcome: Outcome) -> None:
        """Begin what takes its time, once the driver under test has had the first word.

        What cannot be begun is told by the case that needs it.
        """
        if self.live_site is not None and outcome.result.case.id == WORKING_AGAIN:
            self._begin_lanes(self.live_site)
        bench = self._site.begun
        if bench is None:
            return
        if outcome.result.state is State.PASSED and self._site.plugin() is not None:
            bench.beside = self._annexes.benches
            ids, self._expected = self._expected, ()
            apart = [id for id in ids if self.declared(id).apart_s and not self._is_decided(id)]
            self._annexes.begin(sorted(apart, key=lambda id: -self.declared(id).apart_s))
        ids, self._to_begin = self._to_begin, ()
        self._call(bench, [self.declared(id).begin for id in ids if not self._is_decided(id)])

    def _begin_lanes(self, live: LiveSite) -> None:
        """Begin what does not disturb, once a device is known to work for one pod and the next."""
        known = self.outcomes.items()
        passed = frozenset(id for id, each in known if each.result.state is State.PASSED)
        if WORKING_AGAIN not in passed:
            return
        every = [self.declared(id) for id in self._to_begin if not self._is_decided(id)]
        free = undisturbing(every, self.available)
        # This thread only waits for them.
        live.begin(lanes_of(free, passed), self.plan.benches if self.plan.benches > 1 else 0)

    def _disturb(self) -> None:
        """Do before the first disturbing case what settles while the others are judged."""
        bench = self._site.begun
        if bench is not None and bench.clean and not self.plan.attachment:
            ids, self._to_disturb = self._to_disturb, ()
            self._call(bench, [self.declared(id).ahead for id in ids if not self._is_decided(id)])

    @staticmethod
    def _call(bench: Bench, found: Iterable[Begin | None]) -> None:
        for begin in dict.fromkeys(found):
            if begin is not None:
                with suppress(Exception):
                    begin(bench)

    def _is_decided(self, id: str) -> bool:
        case, profile = self.declared(id).case, self.plan.profile
        return (
            id in self.outcomes
            or id in profile.waivers
            or bool(self._not_applicable(case, profile))
            or bool(missing_inputs(case, profile))
            or self._unable(case) is not None
        )

    def _judge(self, what: Declared) -> Outcome:
        case = what.case
        if what.disturbs and not self._annexes.has_begun(case.id):
            self._disturb()
        profile = self._profile_for(case)
        provisional = profile is not self.plan.profile
        early = self._without_running(case, profile)
        outcome = self._told(Outcome(early) if early is not None else self._run(what))
        return outcome.provisional() if provisional else outcome

    def _told(self, outcome: Outcome) -> Outcome:
        """An outcome as it is told: nothing is blocked by a case that has passed.

        The driver did there what it did not do here. The first case that it fails says so, and
        what is in the same way later is blocked by that.
        """
        lapse, case = outcome.lapse, outcome.result.case
        if lapse is None or lapse.finding is None or lapse.by not in self.available:
            return outcome
        if blocks(self.judge(lapse.by).result):
            return outcome
        first = self._lapses.setdefault(lapse.by, case.id)
        if first != case.id:
            return dataclasses.replace(outcome, result=not_run(case, blocked_by([first])))
        return outcome.failing(lapse.finding)

    def _profile_for(self, case: Case) -> DriverProfile:
        """The profile by which a case is decided: what is seen counts as declared.

        Such a case is judged and not counted. A driver that cannot be started publishes nothing.
        """
        shown = self.undeclared(case)
        return shown if shown is not None and self._shows(case) else self.plan.profile

    def undeclared(self, case: Case) -> DriverProfile | None:
        """The profile that would declare what a case lacks, where a driver shows that by itself.

        None if the case lacks nothing, or would not concern the driver either.
        """
        profile, lacking = self.plan.profile, self._lacking(case)
        if not lacking or not lacking <= signs.SHOWN or case.depth is Depth.STATIC:
            return None
        declared = {**profile.features, **dict.fromkeys(lacking, True)}
        found = dataclasses.replace(profile, features=declared)
        return None if self._not_applicable(case, found) else found

    def _shows(self, case: Case) -> bool:
        """True if the driver has shown all that the profile does not declare.

        What shows only with a registration or a claim does so in what the case needs.
        """
        lacking = self._lacking(case)
        try:
            self.bench.published()
            if not lacking <= signs.IN_SLICES:
                self._blockers(case)
            return lacking <= signs.unasked(self.bench).keys()
        except (BenchError, *UNSTARTABLE):
            return False

    def _lacking(self, case: Case) -> set[str]:
        return {name for name in case.features if not self.plan.profile.declares(name)}

    def _run(self, what: Declared) -> Outcome:
        if self.live_site is not None:
            return self.live_site.judge(what)
        outcome = self._annexes.outcome(what.case.id)
        return self._judge_on(what.case.id, self._site) if outcome is None else outcome

    def _judge_on(self, id: str, site: Site) -> Outcome:
        what = self.declared(id)
        return site.judge(what, works=self._needs_working_driver(what.case))

    def _without_running(self, case: Case, profile: DriverProfile) -> CaseResult | None:
        """The result of a case that is decided before it runs."""
        reason = self._not_applicable(case, profile) or unasked(case, profile)
        if reason:
            return CaseResult(case=case, state=State.NOT_APPLICABLE, reason=reason)
        waiver = profile.waivers.get(case.id)
        if waiver is not None:
            return waived(case, waiver)
        missing = missing_inputs(case, profile)
        if missing:
            return not_run(case, input_missing(missing))
        if self._must_spare_others and self.declared(case.id).disturbs:
            return dataclasses.replace(not_run(case, DISTURBING), remedy=DISRUPTIVE)
        unable = self._unable(case)
        if unable is not None:
            return unsupported(case, unable)
        blockers = self._blockers(case)
        if blockers:
            return not_run(case, blocked_by(blockers))
        return None

    @property
    def _must_spare_others(self) -> bool:
        return self.plan.live is not None and self.plan.live.shared

    def _not_applicable(self, case: Case, profile: DriverProfile) -> str:
        plan = self.plan
        return not_applicable(case, profile, kubernetes=plan.kubernetes, gates=plan.feature_gates)

    def _unable(self, case: Case) -> UnsupportedEnvironment | None:
        """Why this run cannot judge the case, where that is known beforehand."""
        if self.plan.attachment and self.declared(case.id).takes_down:
            return not_ours("restart it")
        return time_is_not_judged(case) if self.plan.patient else None

    def _blockers(self, case: Case) -> set[str]:
        """The cases at the root of why this one is pointless."""
        for id in needs_of(case, self.available, live=self.live_site is not None):
            if blocks(self.judge(id).result):
                return self._roots(id)
        return set()

    def _is_pointless(self, id: str) -> bool:
        """True if a case that this one needs, directly or not, is known not to have passed."""
        for needed in declared(id).case.needs:
            known = self.outcomes.get(needed)
            if known is not None and blocks(known.result):
                return True
            if known is None and needed in implemented() and self._is_pointless(needed):
                return True
        return False

    def _roots(self, id: str) -> set[str]:
        result = self.outcomes[id].result
        if result.state is not State.NOT_RUN:
            return {id}
        if result.reason.startswith(BLOCKED):
            return set(result.reason.removeprefix(BLOCKED).split(", "))
        needed = [each for each in result.case.needs if each in self.outcomes]
        blocking = [each for each in needed if blocks(self.outcomes[each].result)]
        return self._roots(blocking[0]) if blocking else {id}

    def _needs_working_driver(self, case: Case) -> bool:
        """True if the case rests, directly or not, on a claim that can be prepared."""
        return any(
            id == WORKING or self._needs_working_driver(self.declared(id).case)
            for id in case.needs
            if id in self.available
        )

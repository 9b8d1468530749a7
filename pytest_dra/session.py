"""One run of the suite in one process: settings, bench, and the outcome of each case.

pytest asks for one case at a time (:meth:`Session.judge`). A case whose prerequisites have not
been judged in this process has them judged first, so that a single case, a whole run and a share
of a run under xdist come to the same result.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
import traceback
from collections.abc import Iterable
from collections.abc import Iterator
from contextlib import ExitStack
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path

from pytest_dra.bench import Bench
from pytest_dra.bench import Setup
from pytest_dra.cases import Begin
from pytest_dra.cases import Declared
from pytest_dra.cases import declared
from pytest_dra.cases import implemented
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.kubelet import Plugin
from pytest_dra.launch import Component
from pytest_dra.launch import Keeper
from pytest_dra.profile import DriverProfile
from pytest_dra.profile import missing_inputs
from pytest_dra.profile import not_applicable
from pytest_dra.report.excerpt import excerpt
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import State
from pytest_dra.report.results import blocked_by
from pytest_dra.report.results import failed
from pytest_dra.report.results import input_missing
from pytest_dra.report.results import not_run
from pytest_dra.spec import Blocked
from pytest_dra.spec import Case
from pytest_dra.spec import NotApplicable
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation
from pytest_dra.timeline import Timeline

BLOCKING = frozenset({State.FAILED, State.ERRORED, State.NOT_RUN})
"""States of a prerequisite that make a case pointless; a waived one was accepted on purpose."""

WORKING = "PREP-023"
"""The case that says that a claim can be prepared at all: the plain cycle needs that."""


class BenchError(Exception):
    """The bench cannot be made, which was told at length before; never the driver's fault."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is judged, and how: everything that had to be decided before the start."""

    components: tuple[Component, ...]
    driver_name: str | None
    profile: DriverProfile
    kubernetes: str
    cdi_library: str
    cel_engine: str = "own"
    jailed: bool = False
    previous: tuple[Component, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """A result, and the exception behind it if there was one (for pytest's traceback)."""

    result: CaseResult
    error: BaseException | None = None


class Session:
    """See the module. Nothing is started before the first case or fixture needs it.

    A context manager: everything is ended at its end, whatever happens.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.timeline = Timeline()
        self._keeper: Keeper | None = None
        self._cluster: Cluster | None = None
        self._bench: Bench | None = None
        self._broken = ""
        self._outcomes: dict[str, Outcome] = {}
        self._to_begin: tuple[str, ...] = ()
        self._to_disturb: tuple[str, ...] = ()

    # what is started

    @property
    def bench(self) -> Bench:
        """The bench; made at first use.

        Raises:
            BenchError: it could not be made before; the first time its own error is raised.
        """
        if self._bench is None:
            with self._told_once():
                self._bench = self._make_bench()
        return self._bench

    @property
    def cluster(self) -> Cluster:
        """The cluster alone, without a driver. Raises as :attr:`bench` does."""
        with self._told_once():
            return self._start_cluster()

    @contextmanager
    def _told_once(self) -> Iterator[None]:
        if self._broken:
            raise BenchError(f"nothing can be judged any more, see the first case: {self._broken}")
        try:
            yield
        except Exception as error:
            self._broken = f"{type(error).__name__}: {error}"
            raise

    def _start_cluster(self) -> Cluster:
        if self._cluster is None:
            directory = Path(tempfile.mkdtemp(prefix="dra-kube-"))
            self._start_keeper().own_directory(directory)
            cluster = EmbeddedCluster(
                directory, kubernetes=self.plan.kubernetes, timeline=self.timeline
            )
            cluster.start()
            self._cluster = cluster
        return self._cluster

    def _start_keeper(self) -> Keeper:
        if self._keeper is None:
            keeper = Keeper()
            keeper.start()
            self._keeper = keeper
        return self._keeper

    def _make_bench(self) -> Bench:
        return Bench(
            Setup(
                cluster=self._start_cluster(),
                keeper=self._start_keeper(),
                timeline=self.timeline,
                profile=self.plan.profile,
                components=self.plan.components,
                driver_name=self.plan.driver_name,
                jailed=self.plan.jailed,
                previous=self.plan.previous,
                cdi_library=self.plan.cdi_library,
            )
        )

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything that was started, in bounded time; calling it twice is fine."""
        bench, self._bench = self._bench, None
        cluster, self._cluster = self._cluster, None
        keeper, self._keeper = self._keeper, None
        with ExitStack() as stack:
            if keeper is not None:
                stack.callback(keeper.close)
            if cluster is not None:
                stack.callback(cluster.stop)
            if bench is not None:
                stack.callback(bench.close)

    def plugin(self) -> Plugin | None:
        """The registered plugin as it is now, for the report."""
        if self._bench is None or not self._bench.started:
            return None
        return next(iter(self._bench.instance.kubelet.plugins()), None)

    def driver_name(self) -> str:
        """The driver's name as far as it is known."""
        if self._bench is None or not self._bench.started:
            return self.plan.driver_name or ""
        return self._bench.instance.driver_name or ""

    def driver_log(self) -> str:
        """The end of the driver's output; empty if it was never started."""
        if self._bench is None or not self._bench.started:
            return ""
        return self._bench.instance.driver.log_tail()

    # what is judged

    def judge(self, id: str) -> Outcome:
        """The outcome of one case; each is judged once in a process.

        Raises:
            KeyboardInterrupt: and other exceptions that are no Exception; nothing is kept then.
        """
        if id not in self._outcomes:
            if declared(id).disturbs:
                self._disturb()
            self._outcomes[id] = self._judge(declared(id))
            self._begin_others()
        return self._outcomes[id]

    def expect(self, ids: Iterable[str]) -> None:
        """Say which cases are to be judged, so that what takes its time can begin early."""
        self._to_begin = self._to_disturb = tuple(ids)

    def _begin_others(self) -> None:
        """Begin what the other cases need, once the driver under test has had the first word.

        What cannot be begun is told by the case that needs it.
        """
        if self._bench is not None and self._bench.started:
            ids, self._to_begin = self._to_begin, ()
            self._call(self._bench, [declared(id).begin for id in ids if not self._is_decided(id)])

    def _disturb(self) -> None:
        """Do before the first disturbing case what settles while the others are judged."""
        if self._bench is not None and self._bench.started and self._bench.clean:
            ids, self._to_disturb = self._to_disturb, ()
            self._call(self._bench, [declared(id).ahead for id in ids if not self._is_decided(id)])

    @staticmethod
    def _call(bench: Bench, found: Iterable[Begin | None]) -> None:
        for begin in dict.fromkeys(found):
            if begin is not None:
                with suppress(Exception):
                    begin(bench)

    def _is_decided(self, id: str) -> bool:
        case, profile = declared(id).case, self.plan.profile
        return (
            id in self._outcomes
            or id in profile.waivers
            or bool(not_applicable(case, profile, kubernetes=self.plan.kubernetes))
            or bool(missing_inputs(case, profile))
        )

    def _judge(self, what: Declared) -> Outcome:
        case = what.case
        early = self._without_running(case)
        if early is not None:
            return Outcome(early)
        began = time.monotonic()
        serial = len(self.timeline)
        result, error = self._run(what, serial)
        took = time.monotonic() - began
        notes = self._bench.warnings.all() if self._bench else result.notes
        return Outcome(dataclasses.replace(result, duration_s=took, notes=notes), error)

    def _without_running(self, case: Case) -> CaseResult | None:
        """The result of a case that is decided before it runs."""
        profile = self.plan.profile
        reason = not_applicable(case, profile, kubernetes=self.plan.kubernetes)
        if reason:
            return CaseResult(case=case, state=State.NOT_APPLICABLE, reason=reason)
        waiver = profile.waivers.get(case.id)
        if waiver is not None:
            text = f"{waiver.reason} ({waiver.link}), until {waiver.expires}"
            return CaseResult(case=case, state=State.WAIVED, reason=text)
        missing = missing_inputs(case, profile)
        if missing:
            return not_run(case, input_missing(missing))
        blockers = self._blockers(case)
        if blockers:
            return not_run(case, blocked_by(blockers))
        return None

    def _blockers(self, case: Case) -> set[str]:
        """The cases at the root of why this one is pointless."""
        for id in case.needs:
            if id not in implemented():
                continue
            if self.judge(id).result.state in BLOCKING:
                return self._roots(id)
        return set()

    def _roots(self, id: str) -> set[str]:
        result = self._outcomes[id].result
        if result.state is not State.NOT_RUN or not result.case.needs:
            return {id}
        needed = [each for each in result.case.needs if each in self._outcomes]
        blocking = [each for each in needed if self._outcomes[each].result.state in BLOCKING]
        return self._roots(blocking[0]) if blocking else {id}

    def _run(self, what: Declared, serial: int) -> tuple[CaseResult, BaseException | None]:
        case = what.case
        try:
            bench = self.bench
            bench.warnings.clear()
            with bench.case(case, works=self._needs_working_driver(case)):
                what.body(bench)
        except Violation as violation:
            lines = excerpt(self.timeline, violation.proof, since=serial)
            return failed(case, violation, excerpt=lines), violation
        except Blocked as blocked:
            return not_run(case, blocked_by([blocked.by])), None
        except NotApplicable as reason:
            return CaseResult(case=case, state=State.NOT_APPLICABLE, reason=str(reason)), None
        except UnsupportedEnvironment as reason:
            return CaseResult(
                case=case,
                state=State.UNSUPPORTED_ENVIRONMENT,
                reason=str(reason),
                remedy=reason.way_out,
            ), None
        except Exception as error:
            text = "".join(traceback.format_exception(error))
            return CaseResult(case=case, state=State.ERRORED, error=text), error
        return CaseResult(case=case, state=State.PASSED), None

    def _needs_working_driver(self, case: Case) -> bool:
        """True if the case rests, directly or not, on a claim that can be prepared."""
        return any(
            id == WORKING or self._needs_working_driver(declared(id).case)
            for id in case.needs
            if id in implemented()
        )

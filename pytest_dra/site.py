"""A place where cases are judged: a cluster, a timeline, and a bench round the driver's processes.

Sites have nothing in common but the keeper of their processes, so that cases on two of them can
run at the same time.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import ExitStack
from contextlib import contextmanager
from pathlib import Path

from pytest_dra.bench import Bench
from pytest_dra.bench import Setup
from pytest_dra.bench.abroad import Abroad
from pytest_dra.bench.attached import AttachedBench
from pytest_dra.bench.obituary import unfit
from pytest_dra.bench.runtime import runtime_wanted
from pytest_dra.cases import Declared
from pytest_dra.clusters.apiserver import ApiServerCluster
from pytest_dra.clusters.embedded import EmbeddedCluster
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.kube import KubeError
from pytest_dra.kubelet import Plugin
from pytest_dra.launch import Keeper
from pytest_dra.launch import LaunchError
from pytest_dra.outcome import BenchError
from pytest_dra.outcome import Outcome
from pytest_dra.outcome import ended
from pytest_dra.plan import Plan
from pytest_dra.report.excerpt import excerpt
from pytest_dra.report.results import CaseResult
from pytest_dra.report.results import failed
from pytest_dra.report.sequence import sequence
from pytest_dra.spec import Blocked
from pytest_dra.spec import Violation
from pytest_dra.timeline import Timeline

UNSTARTABLE = (ClusterError, KubeError, LaunchError, OSError)
"""What may be raised where a cluster or a driver cannot be started."""

TRAFFIC_LIMIT = 2000
"""Entries of the timeline that are kept of one case; the newest ones."""


class Site:
    """See the module. Nothing is started before the first case or fixture needs it.

    Args:
        plan: what is judged.
        keeper: gives the keeper of all processes, started.
        abroad: looks for what drivers make outside their directories, on all sites of a run.
    """

    def __init__(
        self, plan: Plan, keeper: Callable[[], Keeper], *, abroad: Abroad | None = None
    ) -> None:
        self.timeline = Timeline()
        self._abroad = abroad
        self._plan = plan
        self._keeper = keeper
        self._cluster: Cluster | None = None
        self._bench: Bench | None = None
        self._broken = ""

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

    @property
    def begun(self) -> Bench | None:
        """The bench, if its driver has been started."""
        return self._bench if self._bench is not None and self._bench.started else None

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
            self._keeper().own_directory(directory)
            cluster = self._new_cluster(directory)
            cluster.start()
            self._cluster = cluster
        return self._cluster

    def _new_cluster(self, directory: Path) -> Cluster:
        plan, line = self._plan, self.timeline
        name, gates = plan.kubernetes, plan.feature_gates
        if plan.binaries is None:
            return EmbeddedCluster(
                directory, kubernetes=name, timeline=line, gates=gates, rights=plan.rights
            )
        return ApiServerCluster(
            directory,
            kubernetes=name,
            timeline=line,
            gates=gates,
            binaries=plan.binaries,
            rights=plan.rights,
        )

    def _make_bench(self) -> Bench:
        plan = self._plan
        setup = Setup(
            cluster=self._start_cluster(),
            keeper=self._keeper(),
            timeline=self.timeline,
            profile=plan.profile,
            components=plan.components,
            driver_name=plan.driver_name,
            jailed=plan.jailed,
            previous=plan.previous,
            cdi_library=plan.cdi_library,
            in_memory=plan.in_memory,
            soak=plan.soak,
            replay=plan.replay,
            patient=plan.patient,
            abroad=self._abroad,
            fleet=plan.fleet,
        )
        return AttachedBench(setup, plan.attachment) if plan.attachment else Bench(setup)

    def close(self) -> None:
        """End everything but the keeper, in bounded time; calling it twice is fine."""
        bench, self._bench = self._bench, None
        cluster, self._cluster = self._cluster, None
        with ExitStack() as stack:
            if cluster is not None:
                stack.callback(cluster.stop)
            if bench is not None:
                stack.callback(bench.close)

    def has_plugin(self) -> bool:
        """Start the driver beside foreign slices; True if it registers.

        False too if nothing can be started.
        """
        try:
            if self.bench.instance.plugin() is None:
                return False
            self.bench.family.lay_decoys(self.bench.instance.node)
            return True
        except (BenchError, *UNSTARTABLE):
            return False

    # what is known of the driver

    def plugin(self) -> Plugin | None:
        """The registered plugin as it is now, for the report."""
        bench = self.begun
        return next(iter(bench.instance.kubelet.plugins()), None) if bench else None

    def driver_name(self) -> str:
        """The driver's name as far as it is known."""
        bench = self.begun
        return (bench.instance.driver_name if bench else self._plan.driver_name) or ""

    def driver_log(self) -> str:
        """The end of the driver's output; empty if it was never started."""
        bench = self.begun
        return bench.instance.driver.log_tail() if bench else ""

    def cluster_logs(self) -> Mapping[str, str]:
        """The end of the output of the cluster's own programs, by name; none for the embedded."""
        return self._cluster.logs() if self._cluster is not None else {}

    # what is judged

    def judge(self, what: Declared, *, works: bool) -> Outcome:
        """Run a case here; ``works`` as for :meth:`Bench.case`."""
        began, serial = time.monotonic(), len(self.timeline)
        result, error = self._run(what, serial, works=works)
        notes = self._bench.warnings.all() if self._bench else result.notes
        took = time.monotonic() - began
        return Outcome(
            dataclasses.replace(result, duration_s=took, notes=notes),
            traffic=tuple(self.timeline.all(since=serial)[-TRAFFIC_LIMIT:]),
            log=self.driver_log(),
            cluster_logs=self.cluster_logs(),
        ).because(error)

    def _run(
        self, what: Declared, serial: int, *, works: bool
    ) -> tuple[CaseResult, BaseException | None]:
        def act() -> None:
            bench = self.bench
            bench.warnings.clear()
            try:
                with bench.case(what.case, works=works):
                    what.body(bench)
            except (Violation, Blocked) as found:
                user = self._plan.fleet.user if self._plan.fleet else ""
                reason = unfit(bench.instance, user) if user and bench.started else ""
                if reason:
                    raise LaunchError(reason) from found
                missing = runtime_wanted(what.case, self._plan.profile)
                if missing is not None and self.plugin() is None:
                    raise missing from found
                raise

        def blamed(violation: Violation) -> CaseResult:
            proof, timeline = violation.proof, self.timeline
            lines = excerpt(timeline, proof, since=serial)
            seen = sequence(timeline, proof, since=serial, judged=violation.where)
            return failed(what.case, violation, excerpt=lines, steps=seen)

        return ended(what.case, act, blamed=blamed)

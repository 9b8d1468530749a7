"""A whole cluster on which cases are judged, with the driver deployed there once."""

from __future__ import annotations

import dataclasses
import secrets
import tempfile
import time
from collections.abc import Callable
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextlib import ExitStack
from contextlib import nullcontext
from contextlib import suppress
from pathlib import Path

from pytest_dra.api.versions import kubernetes_version
from pytest_dra.api.versions import nearest_version
from pytest_dra.cases import Declared
from pytest_dra.cases import declared
from pytest_dra.clusters.nodelogs import NODES
from pytest_dra.clusters.owner import Owner
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.whole import WholeCluster
from pytest_dra.kube import KubeError
from pytest_dra.lanes import Lanes
from pytest_dra.launch import Keeper
from pytest_dra.launch.inherited import inherited
from pytest_dra.launch.tool import python_path
from pytest_dra.live import LiveBench
from pytest_dra.live.leftovers import ended_runs
from pytest_dra.live.leftovers import remove_run
from pytest_dra.live.leftovers import removing
from pytest_dra.live.meeting import Meeting
from pytest_dra.live.meeting import Met
from pytest_dra.live.plan import LivePlan
from pytest_dra.live.setup import LiveSetup
from pytest_dra.outcome import BenchError
from pytest_dra.outcome import Outcome
from pytest_dra.outcome import ended
from pytest_dra.plan import Plan
from pytest_dra.report.results import State
from pytest_dra.spec import UnsupportedEnvironment
from pytest_dra.spec import Violation

SPOILING = frozenset({State.FAILED, State.ERRORED})
"""States of a case after which nobody knows what the driver still holds."""

SPARE = 4
"""Devices of the class from which on cases may be judged beside each other: each wants two at most
at a time (or three in one claim, which has none before it has all), and one that has a device and
waits for its second one must get it."""

RUN_BYTES = 3
"""Random part of a run's name: apart from those of others on one cluster."""


class LiveSite:
    """See the module. Nothing is started before the first case needs it.

    Args:
        plan: what is judged; with a live plan.
        keeper: gives the keeper of all processes, started.
    """

    def __init__(self, plan: Plan, keeper: Callable[[], Keeper]) -> None:
        self._plan = plan
        self._keeper = keeper
        self._cluster: WholeCluster | None = None
        self._bench: LiveBench | None = None
        self._run, self._owner = secrets.token_hex(RUN_BYTES), Owner.here()
        self._kept: Keeper | None = None
        self._broken = ""
        self._meeting: Meeting | None = None
        self._joins = False
        self._lanes = Lanes(self._judge_beside)
        self.kept = ""
        """Name of a cluster that the run has made and leaves for the next one."""

    @property
    def cluster(self) -> WholeCluster:
        """The cluster, started, with nothing on it yet.

        Raises:
            BenchError: it could not be before; the first time its own error is raised.
        """
        self._must_be_whole()
        if self._cluster is None:
            try:
                cluster = self._new_cluster()
                self._cluster = cluster
                cluster.start()
                self.kept = cluster.name if cluster.ours and not cluster.ends else ""
                self._must_be_meant(cluster)
            except Exception as error:
                self._broken = f"{type(error).__name__}: {error}"
                raise
        return self._cluster

    def _new_cluster(self) -> WholeCluster:
        if self._meeting is None or not self._joins:
            return self._live.new(self._keeper())
        met = self._meeting.wait()
        self._run, self._owner = met.run, met.owner
        return self._live.join(self._keeper(), met.cluster)

    def join(self, meeting: Meeting) -> None:
        """Use the cluster and the driver of another process of the run."""
        self._meeting, self._joins = meeting, True

    def offer(self, meeting: Meeting) -> Met:
        """Make cluster and deployment for other processes. Raises as :attr:`bench` does."""
        self._meeting = meeting
        self.bench.driver.must_publish()
        return Met(cluster=self.cluster.name, run=self._run, owner=self._owner)

    def using(self) -> AbstractContextManager[None]:
        """Use the driver, and nobody disturbs it meanwhile."""
        return self._meeting.using() if self._meeting is not None else nullcontext()

    def _alone(self) -> AbstractContextManager[None]:
        return self._meeting.alone() if self._meeting is not None else nullcontext()

    def _must_be_meant(self, cluster: WholeCluster) -> None:
        """Raises ClusterError for a cluster of another Kubernetes than the run judges for."""
        meant = self._plan.kubernetes
        found = nearest_version(cluster.admin().server_version()).name
        if found != meant:
            raise ClusterError(
                f"the cluster is Kubernetes {found}, and the run judges for {meant}: give "
                f"--dra-kubernetes={found}, or another node image"
            )

    @property
    def bench(self) -> LiveBench:
        """The bench, with the driver deployed. Raises as :attr:`cluster` does."""
        self._must_be_whole()
        if self._bench is None:
            cluster = self.cluster
            try:
                self._bench = self._deploy(cluster)
            except Exception as error:
                self._broken = f"{type(error).__name__}: {error}"
                raise
        return self._bench

    @property
    def _live(self) -> LivePlan:
        if self._plan.live is None:
            raise RuntimeError("the run has no whole cluster")
        return self._plan.live

    def _must_be_whole(self) -> None:
        if self._broken:
            raise BenchError(f"nothing can be judged any more, see the first case: {self._broken}")

    def _deploy(self, cluster: WholeCluster) -> LiveBench:
        live = self._live
        if not self._joins:
            if not cluster.ends:
                self._promise(cluster)
            if live.build is not None:
                live.build(self._folder())
        bench = LiveBench(
            LiveSetup(
                cluster=cluster,
                profile=self._plan.profile,
                driver_name=self._plan.driver_name or "",
                run=self._run,
                version=kubernetes_version(self._plan.kubernetes).with_known_gates(
                    self._plan.feature_gates
                ),
                objects=live.objects,
                previous=live.previous,
                images=live.images,
                pod_image=live.pod_image,
                own_allocator=live.own_allocator,
                partner=live.partner,
                node=live.node,
                cdi_library=self._plan.cdi_library,
                folder=self._folder,
                owner=self._owner,
                meeting=self._meeting,
                joins=self._joins,
            )
        )
        self._bench = bench
        if self._joins:
            bench.join()
        else:
            bench.open()
        return bench

    def _promise(self, cluster: WholeCluster) -> None:
        """Have what is made removed if this process cannot, and what ended runs have left now."""
        for run in ended_runs(cluster.admin()):
            remove_run(cluster.admin(), run)
        argv = removing(cluster.admin_kubeconfig(), self._run)
        env = {**inherited(), "PYTHONPATH": python_path()}
        keeper = self._keeper()
        keeper.run_at_end(self._run, argv, env=env)
        self._kept = keeper

    def _folder(self) -> Path:
        """An empty folder for the build of an image, gone at the end."""
        folder = Path(tempfile.mkdtemp(prefix="dra-image-"))
        self._keeper().own_directory(folder)
        return folder

    def begin(self, lanes: Sequence[Sequence[str]], width: int) -> None:
        """Begin to judge cases beside each other, ``width`` of them where devices are enough."""
        bench = self.bench
        with suppress(KubeError, ClusterError, Violation, UnsupportedEnvironment):
            devices = len(bench.driver.devices(bench.device_class))
            if devices >= SPARE:
                # One more than those that may all wait for their second one.
                self._lanes.begin(lanes, width=min(width, devices - 1))

    def passed(self) -> list[Outcome]:
        """What has passed beside other cases, whether its turn has come or not."""
        return self._lanes.passed()

    def _judge_beside(self, id: str) -> Outcome:
        what, bench = declared(id, live=True), self.bench.beside()
        return self._judged(what, lambda: bench)

    def judge(self, what: Declared) -> Outcome:
        """Run a case here."""
        known = self._lanes.outcome(what.case.id)
        if known is not None:
            return known
        with self._alone() if what.disturbs else nullcontext():
            outcome = self._judged(what, lambda: self.bench)
        log = self._bench.driver.log() if self._bench is not None else ""
        # One that could not be deployed may be somebody else's.
        if outcome.result.state in SPOILING and self._bench is not None and not self._broken:
            self._renew(self._bench)
        return dataclasses.replace(outcome, log=log)

    def _judged(self, what: Declared, bench_of: Callable[[], LiveBench]) -> Outcome:
        """How a case ends on a bench."""
        began = time.monotonic()

        def act() -> None:
            bench = bench_of()
            with bench.case(what.case):
                what.body(bench)

        result, error = ended(what.case, act)
        duration_s = time.monotonic() - began
        outcome = Outcome(dataclasses.replace(result, duration_s=duration_s)).because(error)
        logs = self._logs(error) if result.state in SPOILING else ""
        return dataclasses.replace(outcome, cluster_logs={NODES: logs}) if logs else outcome

    def _logs(self, error: BaseException | None) -> str:
        """What the nodes say: those of a cluster that was not made are gone."""
        if isinstance(error, ClusterError) and error.logs:
            return error.logs
        return self._cluster.logs() if self._cluster is not None and not self._broken else ""

    def _renew(self, bench: LiveBench) -> None:
        """Begin anew with the driver: what a failed case has left must not fail the next one."""
        with suppress(KubeError, Violation, UnsupportedEnvironment), self._alone():
            bench.driver.restart()

    def close(self) -> None:
        """Remove what was deployed, end the cluster; calling it twice is fine.

        Raises:
            ClusterError: something is left.
        """
        bench, self._bench = self._bench, None
        cluster, self._cluster = self._cluster, None
        self._lanes.close()
        with ExitStack() as stack:
            if cluster is not None:
                stack.callback(cluster.stop)
            if bench is not None:
                bench.stop()
            # What goes with its cluster need not be removed before.
            goes = cluster is None or cluster.ends or self._joins
            if bench is not None and not goes:
                left = bench.close()
                if left:
                    raise ClusterError(f"still on the cluster: {', '.join(left)}")
                if self._kept is not None:
                    self._kept.forget(self._run)

"""The reference allocator at work on a cluster: scheduler and controllers, for one test."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Final

from pytest_dra.allocator import Rules
from pytest_dra.allocator import rules_of
from pytest_dra.clusters.protocol import Cluster
from pytest_dra.controllers.claiming import ClaimController
from pytest_dra.controllers.evicting import TaintEviction
from pytest_dra.controllers.looping import Background
from pytest_dra.controllers.scheduling import SchedulerLoop
from pytest_dra.explaining import explain
from pytest_dra.explaining import text
from pytest_dra.kube import Client
from pytest_dra.objects import live
from pytest_dra.scheduling import Cluster as Objects
from pytest_dra.scheduling import Scheduler
from pytest_dra.scheduling import subjects

SCHEDULER: Final = "default-scheduler"
"""Pods that name no scheduler ask for this one."""

BACKOFF_S: Final = 0.1
"""Pause of the scheduler after pods that did not fit: nobody else is on the cluster."""


class ReferenceAllocator:
    """A context manager: schedules the pods of some namespaces, and looks after their claims.

    Everything else on the cluster is left alone: what cases have allocated by hand stays as it is.

    Args:
        cluster: the answers are those of its Kubernetes version.
        namespaces: where it acts; :meth:`serve` adds more.
        gates: feature gates that are not at that version's defaults.
    """

    def __init__(
        self, cluster: Cluster, *, namespaces: tuple[str, ...], gates: Mapping[str, bool]
    ) -> None:
        version = cluster.version
        known = {gate: on for gate, on in gates.items() if gate in version.gates}
        self.rules: Rules = rules_of(version.with_gates(known))
        self._cluster = cluster
        self._namespaces = set(namespaces)
        self._stack = ExitStack()
        self._background: Background | None = None

    def __enter__(self) -> ReferenceAllocator:
        scheduler = SchedulerLoop(
            self._client(), self.rules, name=SCHEDULER, within=self.acts_in, backoff_s=BACKOFF_S
        )
        self._background = Background(
            (
                scheduler,
                ClaimController(
                    self._client(), within=self.acts_in, groups=self.rules.group_claims
                ),
                TaintEviction(self._client(), within=self.acts_in),
            )
        )
        self._stack.enter_context(self._background)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _client(self) -> Client:
        """One for each part: a client keeps few connections, and watches need one each."""
        client = Client(self._cluster.admin_kubeconfig())
        self._stack.callback(client.close)
        return client

    def serve(self, namespace: str) -> None:
        """Look after the pods and claims of a further namespace, too."""
        self._namespaces.add(namespace)

    def acts_in(self, namespace: str) -> bool:
        """True for the namespaces that it looks after."""
        return namespace in self._namespaces

    @property
    def failures(self) -> list[str]:
        """Parts of it that have ended though nobody wanted it."""
        return list(self._background.failures) if self._background is not None else []

    def explain(self, namespace: str, pod: str) -> str:
        """Why a pod waits, or where it would go, as ``dra-allocator explain`` says it."""
        client = self._cluster.admin()
        seen = (one for kind in live.SCHEDULED for one in live.objects_of(client, kind))
        objects = Objects(seen, group_claims=self.rules.group_claims)
        found = objects.pods.get((namespace, pod))
        if found is None:
            return f"pod {namespace}/{pod} does not exist"
        return text(explain(Scheduler(objects, self.rules), subjects.of_pod(found, objects)))


class KubeScheduler(ReferenceAllocator):
    """The scheduler and the controllers of a whole cluster: here nothing acts, and it explains."""

    def __enter__(self) -> KubeScheduler:
        return self

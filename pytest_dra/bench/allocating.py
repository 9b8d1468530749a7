"""What gives devices to pods on a cluster, for one test or one run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final
from typing import Protocol

from pytest_dra.allocator import Rules
from pytest_dra.controllers import scheduling
from pytest_dra.controllers.claiming import ClaimController
from pytest_dra.controllers.evicting import TaintEviction
from pytest_dra.controllers.looping import Background
from pytest_dra.controllers.looping import Loop
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


class Reached(Protocol):
    """A cluster, as far as it is needed here."""

    def admin(self) -> Client:
        """The suite's own identity."""

    def admin_kubeconfig(self) -> Path:
        """A kubeconfig for that identity, for clients of one's own."""


class Allocator:
    """A context manager: the scheduler and the controllers of the cluster, while it runs.

    As it is nothing acts by it, since a whole cluster has them; it only explains.

    Args:
        cluster: whose pods get devices.
        rules: whose answers it gives.
        namespaces: where it acts; :meth:`serve` adds more.

    Attributes:
        scheduler: the ``schedulerName`` of the pods that get devices by it.
    """

    scheduler = SCHEDULER

    def __init__(self, cluster: Reached, *, rules: Rules, namespaces: tuple[str, ...]) -> None:
        self.rules = rules
        self._cluster = cluster
        self._namespaces = set(namespaces)
        self.also: Callable[[str], bool] = lambda _: False
        """True for namespaces that others have looked after."""
        self._stack = ExitStack()
        self._background: Background | None = None

    def __enter__(self) -> Allocator:
        parts = self._parts()
        if parts:
            self._background = Background(parts)
            self._stack.enter_context(self._background)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _parts(self) -> tuple[Loop, ...]:
        """What acts."""
        return ()

    def _scheduler(self) -> SchedulerLoop:
        return SchedulerLoop(
            self._client(),
            self.rules,
            name=self.scheduler,
            within=self.acts_in,
            backoff_s=BACKOFF_S,
        )

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
        return namespace in self._namespaces or self.also(namespace)

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


class KubeScheduler(Allocator):
    """That of a whole cluster."""


class ReferenceScheduler(Allocator):
    """The reference allocator beside the scheduler of a whole cluster, as ``dra-allocator serve``.

    Pods get devices by it that ask for it by their ``schedulerName``.
    """

    scheduler = scheduling.NAME

    def _parts(self) -> tuple[Loop, ...]:
        return (self._scheduler(),)


class ElsewhereScheduler(Allocator):
    """The reference allocator of a whole cluster, where another process of the run runs it.

    ``asks`` has that one look after a namespace; there must not be two that give devices away.
    """

    scheduler = scheduling.NAME

    def __init__(
        self,
        cluster: Reached,
        *,
        rules: Rules,
        namespaces: tuple[str, ...],
        asks: Callable[[str], None],
    ) -> None:
        super().__init__(cluster, rules=rules, namespaces=namespaces)
        self._asks = asks

    def serve(self, namespace: str) -> None:
        """Have the namespace looked after."""
        self._asks(namespace)


class ReferenceAllocator(Allocator):
    """The reference allocator on a cluster that has neither a scheduler nor controllers.

    Everything outside its namespaces is left alone: what cases have allocated by hand stays as it
    is.
    """

    def _parts(self) -> tuple[Loop, ...]:
        groups = self.rules.group_claims
        return (
            self._scheduler(),
            ClaimController(self._client(), within=self.acts_in, groups=groups),
            TaintEviction(self._client(), within=self.acts_in),
        )

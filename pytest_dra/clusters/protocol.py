"""What a case may do to a cluster.

Cases and bench act through this protocol only and never reach into a store, so that the embedded
API server, a real kube-apiserver and a whole cluster are interchangeable.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol
from typing import runtime_checkable

from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.embedded.trouble import EVERYTHING
from pytest_dra.embedded.trouble import Caused
from pytest_dra.embedded.trouble import Scope
from pytest_dra.kube import Client
from pytest_dra.spec import Depth


class ClusterError(Exception):
    """The cluster could not be provided: never the driver's fault.

    ``logs`` are those of its nodes, where they may tell why.
    """

    def __init__(self, message: str, *, logs: str = "") -> None:
        super().__init__(message)
        self.logs = logs


class Trouble(Protocol):
    """Misbehaviour of the API server on request.

    Each method but the last group is limited to a :class:`Scope` (a user name, verbs, a resource,
    an object), those with ``times`` also to a number of requests; the :class:`Caused` of a context
    manager counts the requests that were affected. All of it is on the timeline like ordinary
    traffic, so callers mark it with ``timeline.disturbance(...)``. What a context manager set is
    undone at its end. What a server cannot be made to do raises UnsupportedEnvironment.
    """

    def refuse(
        self, scope: Scope, code: int, *, retry_after_s: int | None = None, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """Answer with HTTP ``code`` (403, 409, 410, 429, 500, 503, 504 ...) and such a Status.

        ``retry_after_s`` is also sent as header ``Retry-After``: client-go repeats by itself only
        what has it. A watch that is refused with 410 begins, and ends with an ERROR event.
        """

    def delay(
        self, scope: Scope, seconds: float, *, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """Carry requests out ``seconds`` later, and answer then."""

    def hold(self, scope: Scope, *, times: int | None = None) -> AbstractContextManager[Caused]:
        """Let requests wait until the end of the context, and carry them out then."""

    def delay_answers(
        self, scope: Scope, seconds: float, *, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """Carry requests out at once, but answer ``seconds`` later."""

    def lose_answers(
        self, scope: Scope, *, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """Carry requests out, but reset the connection instead of answering."""

    def time_out(self, scope: Scope, *, times: int | None = None) -> AbstractContextManager[Caused]:
        """Carry requests out, but answer 504 Timeout: the client cannot know. Watches go on."""

    def end_watches_after(
        self, scope: Scope, seconds: float, *, times: int | None = None
    ) -> AbstractContextManager[Caused]:
        """End each watch that is opened meanwhile, in order, after ``seconds``."""

    def stall_watches(self, scope: Scope = EVERYTHING) -> AbstractContextManager[Caused]:
        """Tell watches nothing without ending them; what they missed follows afterwards."""

    def without_watch_list(self, scope: Scope = EVERYTHING) -> AbstractContextManager[Caused]:
        """Refuse ``sendInitialEvents`` with 422, as servers without WatchList do."""

    def drop_watches(self, scope: Scope = EVERYTHING, *, in_order: bool = False) -> int:
        """End the watches that are open now, once: by a reset, or ``in_order`` as by a timeout.

        Returns how many there were.
        """

    def forget_history(self, resource: str = "") -> None:
        """Forget past versions of a resource (its plural; "": of all), as by compaction.

        A watch or a list from any version seen so far then answers 410; open watches go on.
        """

    def short_history(self, changes: int) -> AbstractContextManager[None]:
        """Keep only so many changes of each kind (0: none): a watch that is resumed from further
        back answers 410, as where compaction comes often."""

    def stale_lists(self, scope: Scope = EVERYTHING) -> AbstractContextManager[Caused]:
        """Answer lists from ``resourceVersion=0``, which may be any, as of now all the time."""

    def unreachable(
        self, *, restarts: bool = False, loses_objects: bool = False
    ) -> AbstractContextManager[None]:
        """Refuse connections and reset the open ones; afterwards same port, same objects.

        With ``restarts`` it is another process that comes back (of a server that is one). With
        ``loses_objects`` it comes back empty, as if its storage was thrown away: versions go on
        growing on the embedded server, and begin anew on a real one. A caller that needs them makes
        namespaces, nodes and claims again.
        """

    def gates(self, gates: Mapping[str, bool]) -> AbstractContextManager[None]:
        """Turn feature gates: fields of one that is off are dropped silently from new objects.

        A real server gets another one beside it, which all requests go to meanwhile; watches that
        were opened there are reset at the end.

        Raises:
            ValueError: the version of the cluster has no such gate.
        """

    def serving(self, *versions: str) -> AbstractContextManager[None]:
        """Serve only these versions of resource.k8s.io (``v1``, ``v1beta2``, ``v1beta1``).

        Raises:
            ValueError: it is none of them.
        """


@runtime_checkable
class Accounts(Protocol):
    """A cluster that can be reached as from within a pod."""

    def driver_account(self, directory: Path, *, instance: str, node: str) -> Mapping[str, str]:
        """Write token, ca.crt and namespace of a driver instance, the same as by its kubeconfig.

        Returns:
            The variables by which programs in pods find the API server.

        Raises:
            ClusterError: there is no HTTPS here.
        """


class Cluster(Protocol):
    """An API server for one run, with the identities that the bench needs.

    ``version`` is the Kubernetes version with its feature gates as they are usually.
    """

    provider: str
    kubernetes: str
    version: KubernetesVersion
    depth: Depth

    def start(self) -> None:
        """Bring it up; returns when it answers. Raises ClusterError."""

    def stop(self) -> None:
        """End what this run started, in bounded time; calling it twice is fine."""

    def admin(self) -> Client:
        """The suite's own identity: may do everything."""

    def admin_kubeconfig(self) -> Path:
        """A kubeconfig for that identity, for clients of one's own."""

    def kubelet(self, node: str) -> Client:
        """The identity of the node's kubelet (``system:node:NODE``)."""

    def driver_kubeconfig(self, path: Path, *, instance: str, node: str) -> str:
        """Write the kubeconfig of one driver instance; returns its user name on the timeline."""

    def logs(self) -> Mapping[str, str]:
        """The end of the output of each program that was started for it, by name."""

    def trouble(self) -> Trouble | None:
        """Misbehaviour on request; None for a cluster that cannot."""

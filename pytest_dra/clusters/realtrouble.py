"""Misbehaviour of a real kube-apiserver: what its proxy can do to requests, and restarts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextlib import ExitStack
from contextlib import contextmanager
from typing import Final

from pytest_dra.api.resources import LEASES
from pytest_dra.api.resources import RESOURCE_GROUP
from pytest_dra.api.versions import KubernetesVersion
from pytest_dra.clusters.controlplane import ControlPlane
from pytest_dra.clusters.protocol import ClusterError
from pytest_dra.clusters.proxy import RecordingProxy
from pytest_dra.clusters.trouble import RuledTrouble
from pytest_dra.embedded.served import VERSIONS
from pytest_dra.embedded.served import serving
from pytest_dra.embedded.trouble import EVERYTHING
from pytest_dra.embedded.trouble import Caused
from pytest_dra.embedded.trouble import Effect
from pytest_dra.embedded.trouble import Scope
from pytest_dra.kube import Client
from pytest_dra.spec import UnsupportedEnvironment

CLOCK: Final = "pytest-dra-clock"
"""A Lease that is written to learn the version of the storage."""

PLACE: Final = "kube-system"

EMBEDDED: Final = "--dra-cluster=embedded"


class RealTrouble(RuledTrouble):
    """See :class:`pytest_dra.clusters.protocol.Trouble`.

    Args:
        proxy: what clients come in by.
        plane: the server behind it.
        version: what that one is or emulates, with its gates.
        admin: gives a client that may do everything.
        furnish: puts back into an empty storage what the suite needs.
    """

    def __init__(
        self,
        *,
        proxy: RecordingProxy,
        plane: ControlPlane,
        version: KubernetesVersion,
        admin: Callable[[], Client],
        furnish: Callable[[], None],
    ) -> None:
        super().__init__(proxy.rules)
        self._proxy = proxy
        self._plane = plane
        self._version = version
        self._admin = admin
        self._furnish = furnish

    def drop_watches(self, scope: Scope = EVERYTHING, *, in_order: bool = False) -> int:
        """End open watches once."""
        return self._proxy.drop_watches(scope, in_order=in_order)

    def forget_history(self, resource: str = "") -> None:
        """Let no version seen so far be resumed from."""
        self._proxy.forgotten.forget(resource, self._now())

    def short_history(self, changes: int) -> AbstractContextManager[None]:
        """Not here: how far back a real server remembers is not counted in changes.

        Raises:
            UnsupportedEnvironment: always.
        """
        raise UnsupportedEnvironment(
            f"a real API server cannot be told to remember {changes} changes", way_out=EMBEDDED
        )

    def stale_lists(self, scope: Scope = EVERYTHING) -> AbstractContextManager[Caused]:
        """Show lists from version "0" as they are now."""
        lists = dataclasses.replace(scope, verbs=("list",))
        return self.rule(lists, Effect(stale=self._now()), None)

    @contextmanager
    def unreachable(self, *, restarts: bool = False, loses_objects: bool = False) -> Iterator[None]:
        """Refuse connections and reset the open ones."""
        self._proxy.close_port()
        try:
            if restarts or loses_objects:
                self._plane.restart(loses_objects=loses_objects)
            if loses_objects:
                # another storage counts anew
                self._proxy.forgotten.clear()
            yield
        finally:
            if self._proxy.running:
                self._proxy.open_port()
                if loses_objects:
                    self._furnish()

    def gates(self, gates: Mapping[str, bool]) -> AbstractContextManager[None]:
        """Turn feature gates."""
        # says which are unknown
        self._version.with_gates(gates)
        return self._beside(gates=gates, served={})

    def serving(self, *versions: str) -> AbstractContextManager[None]:
        """Serve only these versions of resource.k8s.io."""
        serving(self._version, versions)
        served = {f"{RESOURCE_GROUP}/{each}": each in versions for each in VERSIONS}
        return self._beside(gates={}, served=served)

    @contextmanager
    def _beside(self, *, gates: Mapping[str, bool], served: Mapping[str, bool]) -> Iterator[None]:
        """Lead all requests to a second server on the same storage."""
        first = self._proxy.upstream
        with ExitStack() as stack:
            try:
                second = self._plane.second(gates=gates, serving=served)
                self._proxy.upstream = stack.enter_context(second)
            except ClusterError as error:
                raise UnsupportedEnvironment(str(error), way_out=EMBEDDED) from error
            try:
                yield
            finally:
                self._proxy.upstream = first

    def _now(self) -> int:
        """The version of the storage: that of a write that nothing has followed yet."""
        client = self._admin()
        made = client.create(LEASES, {"metadata": {"name": CLOCK}}, namespace=PLACE)
        client.delete(LEASES, CLOCK, namespace=PLACE)
        return int(made["metadata"]["resourceVersion"])

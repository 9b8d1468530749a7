"""What a case may do to a cluster.

Cases and bench act through this protocol only and never reach into a store, so that the embedded
API server, a real kube-apiserver and a whole cluster are interchangeable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pytest_dra.kube import Client
from pytest_dra.spec import Depth


class ClusterError(Exception):
    """The cluster could not be provided: never the driver's fault."""


class Cluster(Protocol):
    """An API server for one run, with the identities that the bench needs."""

    provider: str
    kubernetes: str
    depth: Depth

    def start(self) -> None:
        """Bring it up; returns when it answers. Raises ClusterError."""

    def stop(self) -> None:
        """End what this run started, in bounded time; calling it twice is fine."""

    def admin(self) -> Client:
        """The suite's own identity: may do everything."""

    def kubelet(self, node: str) -> Client:
        """The identity of the node's kubelet (``system:node:NODE``)."""

    def driver_kubeconfig(self, path: Path, *, instance: str, node: str) -> str:
        """Write the kubeconfig of one driver instance; returns its user name on the timeline."""
